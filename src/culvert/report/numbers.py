"""Numbers for readers: significant digits, one unit per column, intervals next to medians."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

THIN = "\u202f"
"""Narrow no-break space, between thousands."""

_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "us": ((1e6, "s"), (1e3, "ms"), (1.0, "µs")),
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")),
    "ms": (
        (1.0, "ms"),
    ),  # initiation: 0.08 and 27 in one unit are easier to compare than two units
    "s": ((1.0, "s"), (1e-3, "ms")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    "bytes/h": ((1e6, "MB/h"), (1e3, "kB/h"), (1.0, "B/h")),
    "1/h": ((1.0, "/h"),),
    "1/s": ((1.0, "/s"),),
    "1": ((0.01, "%"),),
}


@dataclass(frozen=True)
class Scale:
    """A unit for people: a value of the journal's unit divided by ``factor`` is in ``name``."""

    factor: float
    name: str
    digits: int = 3

    def number(self, value: float, low: float | None = None, high: float | None = None) -> str:
        """The value without its unit, with no more digits than its interval justifies."""
        places = self._places(value, low, high)
        return rounded(value / self.factor, places, significant=2)

    def ends(self, value: float, low: float | None, high: float | None) -> str:
        """``[405, 420]``; empty without an interval."""
        if low is None or high is None:
            return ""
        places = self._places(value, low, high)
        ends = [rounded(end / self.factor, places, significant=1) for end in (low, high)]
        return f"[{ends[0]}, {ends[1]}]"

    def with_interval(self, value: float, low: float | None, high: float | None) -> str:
        """``412 [405, 420]``, or ``412`` where there is no interval."""
        return f"{self.number(value, low, high)} {self.ends(value, low, high)}".rstrip()

    def text(self, value: float, low: float | None = None, high: float | None = None) -> str:
        """The value and its unit."""
        return f"{self.number(value, low, high)} {self.name}"

    def with_unit_and_interval(self, value: float, low: float | None, high: float | None) -> str:
        """Value, unit and interval: ``412 Mbit/s [405, 420]``."""
        return f"{self.text(value, low, high)} {self.ends(value, low, high)}".rstrip()

    def of(self, value: float | None) -> float | None:
        """A value in this unit."""
        return None if value is None else value / self.factor

    def _places(self, value: float, low: float | None, high: float | None) -> int:
        """Decimal places: ``digits`` significant ones of the value (one more where the interval is
        narrow), but never more than two significant ones of the interval's width. Negative: tens.
        """
        value /= self.factor
        if low is None or high is None or not math.isfinite(high - low) or high <= low:
            return decimals_for(value, self.digits)
        width = (high - low) / self.factor
        narrow = width < 0.02 * abs(value)
        return min(decimals_for(value, self.digits + narrow), 1 - _magnitude(width))


def scale_for(unit: str, values: Iterable[float]) -> Scale:
    """One unit for all values of a column: that of the greatest value, or the next smaller unit if
    the least value would be below one and the greatest stays below five digits."""
    known = _SCALES.get(unit)
    if known is None:
        return Scale(1.0, unit)
    sizes = [abs(value) for value in values if math.isfinite(value) and value != 0]
    if not sizes:
        return Scale(*known[-1])
    if unit == "bytes" and max(sizes) < 1e4:
        return Scale(1.0, "bytes")  # packet sizes: 1420 bytes is never written as 1.42 kB
    if unit == "ms" and min(sizes) >= 1e4:
        return Scale(1e3, "s")
    fitting = [step for step in known if step[0] <= max(sizes)] or [known[-1]]
    if len(fitting) > 1:
        vanishes, readable = min(sizes) < fitting[0][0] / 10, max(sizes) < 1e5 * fitting[1][0]
        if vanishes or (min(sizes) < fitting[0][0] and readable):
            return Scale(*fitting[1])
    return Scale(*fitting[0])


def decimals_for(value: float, significant: int) -> int:
    """Decimal places that show so many significant digits; 0 if the integer part has them."""
    if value == 0 or not math.isfinite(value):
        return 0
    return min(6, max(0, significant - 1 - _magnitude(value)))


def rounded(value: float, places: int, *, significant: int) -> str:
    """Rounded to ``places`` (negative: to tens), but to at least ``significant`` digits."""
    if value and math.isfinite(value):
        places = min(6, max(places, significant - 1 - _magnitude(value)))
    return grouped(round(value, places), max(0, places))


def grouped(value: float, decimals: int) -> str:
    """With grouped thousands and a minus sign (U+2212)."""
    text = f"{abs(value):,.{decimals}f}".replace(",", THIN)
    zero = not any(digit in text for digit in "123456789")
    return f"\u2212{text}" if value < 0 and not zero else text


def _magnitude(value: float) -> int:
    """The power of ten of the first significant digit."""
    return math.floor(math.log10(abs(value)))


PERCENT = Scale(0.01, "%", digits=2)


def percent(ratio: float) -> str:
    """A ratio as per cent: ``41 %``, ``4.1 %``; below 0.005 %, ``0.00 %``."""
    return f"{grouped(100 * ratio, min(2, decimals_for(100 * ratio, 2)))} %"


def duration(seconds: float) -> str:
    """``4 min 12 s``, ``2.1 s``."""
    if seconds < 60:
        return f"{grouped(seconds, min(2, decimals_for(seconds, 2)))} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min")) if hours else ((minutes, "min"), (rest, "s"))
    return " ".join(f"{value} {unit}" for value, unit in parts if value)
