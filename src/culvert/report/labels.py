"""Short names for cells: only the parameters in which the cells of a study differ."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from culvert.analysis.declared import measurement_title

if TYPE_CHECKING:
    import polars as pl

_ORDER = (
    "protocol",
    "packet_size",
    "rate",
    "direction",
    "streams",
    "congestion_control",
    "nodelay",
    "write_size",
    "probes",
    "cycles",
    "duration",
    "warmup",
)
"""The parameters named first; the others follow in alphabetical order."""

_WORDS: dict[str, str] = {
    "protocol": "over {}",
    "packet_size": "{} byte packets",
    "rate": "rate {}",
    "rate_pps": "rate {}/s",
    "congestion_control": "congestion control {}",
    "nodelay": "TCP_NODELAY {}",
    "instrument": "by {}",
    "write_size": "writes of {} bytes",
    "probes": "{} probes",
    "cycles": "{} starts",
    "streams": "{} streams",
    "duration": "for {}",
    "warmup": "after {} of warm-up",
}
"""Text of a parameter; one that is not listed here is shown as name and value."""

_SPECIAL: dict[tuple[str, object], str] = {
    ("packet_size", "max"): "largest packets",
    ("packet_size", "imix"): "packets of an IMIX",
    ("direction", "up"): "a to b",
    ("direction", "down"): "b to a",
    ("direction", "both"): "both ways at once",
    ("rate", None): "unlimited rate",
    ("rate", "max"): "unlimited rate",
    ("protocol", "udp"): "over UDP",
    ("protocol", "icmp"): "over ICMP",
    ("protocol", "tcp"): "over TCP",
    ("cycles", 1): "one start",
    ("streams", 1): "one stream",
    ("instrument", "probe"): "by the probe",
}

_SECONDS = frozenset({"duration", "warmup"})
"""Bare numbers of these are seconds."""

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([a-zA-Zµ%]+(?:/s)?)")

_ALWAYS = {"udp": ("packet_size",)}


class Labels:
    """Names of the cells of one study."""

    def __init__(self, frame: pl.DataFrame) -> None:
        """``frame`` has the columns condition, measurement, parameters (rows or trials)."""
        names = ("measurement", "parameters")
        cells = frame.select(names).drop_nulls().unique().sort(names)
        by_measurement: dict[str, list[dict[str, Any]]] = {}
        for measurement, parameters in cells.iter_rows():
            by_measurement.setdefault(measurement, []).append(parsed(parameters))
        self._differing = {
            measurement: _differing(measurement, found)
            for measurement, found in by_measurement.items()
        }
        self._conditions = frame["condition"].drop_nulls().n_unique()
        self._cells: dict[tuple[str, str, str], str] = {}

    def parameters(self, measurement: str, parameters: str) -> str:
        """``64 byte packets``, ``streams 4``; empty if the measurement has one cell."""
        values = parsed(parameters)
        shown = [
            _one(key, values[key]) for key in self._differing.get(measurement, ()) if key in values
        ]
        return ", ".join(shown)

    def cell(self, condition: str, measurement: str, parameters: str) -> str:
        """``UDP, 64 byte packets, lossy``: the condition only if there are several."""
        key = (condition, measurement, parameters)
        if key not in self._cells:  # a run has many trials of a cell
            parts = [measurement_title(measurement), self.parameters(measurement, parameters)]
            if self._conditions > 1:
                parts.append(condition)
            self._cells[key] = ", ".join(part for part in parts if part)
        return self._cells[key]


def parsed(parameters: str | None) -> dict[str, Any]:
    """Parameters as a dictionary; empty if the text is not a JSON object."""
    try:
        values = json.loads(parameters or "{}")
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


@lru_cache(1024)
def everything(parameters: str) -> str:
    """All parameters in one line: ``over UDP, 84 byte packets, 2000 probes``."""
    values = parsed(parameters)
    rank = {key: index for index, key in enumerate(_ORDER)}
    keys = sorted(values, key=lambda key: (rank.get(key, len(rank)), key))
    return ", ".join(_one(key, values[key]) for key in keys)


def order(parameters: str) -> tuple[float, str]:
    """Sort key of a measurement's cells: packet size (``max`` last), then the text."""
    size = parsed(parameters).get("packet_size")
    return (float(size) if isinstance(size, int | float) else float("inf"), parameters)


def slug(text: str) -> str:
    """A part of a file name: ASCII letters, digits and dashes, never empty."""
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    return "-".join(part for part in kept.split("-") if part)[:60].rstrip("-") or "unnamed"


def _differing(measurement: str, found: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    always = _ALWAYS.get(measurement, ())
    keys = sorted({key for values in found for key in values})
    differing = [key for key in keys if len({json.dumps(v.get(key)) for v in found}) > 1]
    return tuple(dict.fromkeys([*always, *differing]))


def _one(key: str, value: object) -> str:
    if not isinstance(value, list | dict) and (key, value) in _SPECIAL:
        return _SPECIAL[key, value]
    words = _WORDS.get(key, f"{key.replace('_', ' ').replace('{', '').replace('}', '')} {{}}")
    return words.format(_value(key, value))


def _value(key: str, value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float):
        number = f"{value:g}" if abs(value) < 1e5 else f"{value:.0f}"
        return f"{number} s" if key in _SECONDS else number
    # A text includes its unit: separate them by a space, as everywhere else.
    found = _QUANTITY.fullmatch(str(value))
    return f"{found[1]} {found[2].replace('us', 'µs')}" if found else str(value)
