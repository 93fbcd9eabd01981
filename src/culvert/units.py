"""Quantities as people write them ("1Gbit/s", "50ms", "1%") and as numbers in code.

Parsing is exact: a text that is not a whole number of the base unit is refused, never rounded.
Formatting gives the shortest text that parses back to the same value. Prefixes are SI (1 kB is
1000 bytes) and IEC (1 KiB is 1024 bytes). A number without a unit is refused,
because it is ambiguous.

The annotated types are for pydantic models. In Python they are plain numbers in the unit of
their name; in JSON they are text with the unit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer
from pydantic_core import PydanticCustomError

NS_PER_S = 1_000_000_000

_DURATION_NS: Mapping[str, int] = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": NS_PER_S,
    "min": 60 * NS_PER_S,
    "h": 3600 * NS_PER_S,
    "d": 86400 * NS_PER_S,
}
_RATE_BPS: Mapping[str, int] = {
    "bit/s": 1,
    "kbit/s": 10**3,
    "Mbit/s": 10**6,
    "Gbit/s": 10**9,
    "Tbit/s": 10**12,
}
_SIZE_BYTES: Mapping[str, int] = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
_PER_SECOND: Mapping[str, int] = {"/s": 1, "k/s": 10**3, "M/s": 10**6, "G/s": 10**9}

_MAX_DURATION_NS = 30 * 86400 * NS_PER_S
"""Below 2**53 ns, so that seconds as a float keep every nanosecond."""
_MAX_BASE_UNITS = 2**63 - 1

_QUANTITY = re.compile(r"\s*([0-9]{1,30}(?:\.[0-9]{1,30})?)\s*([^\s0-9.](?:.*\S)?)?\s*", re.DOTALL)


class QuantityError(ValueError):
    """A text that is not a quantity of the requested kind; ``why`` and ``remedy`` for the user."""

    def __init__(self, why: str, remedy: str) -> None:
        super().__init__(f"{why}; {remedy}")
        self.why = why
        self.remedy = remedy


def parse_duration_ns(text: str) -> int:
    """Nanoseconds, from "5s", "2.5 s", "50ms", "20min", "1h" ...; at most 30 days."""
    value = _whole(text, _DURATION_NS, "a duration", '"5s", "50ms" or "20min"')
    if value > _MAX_DURATION_NS:
        raise QuantityError(f'"{text}" is more than 30 days', "write a shorter duration")
    return value


def format_duration(duration_ns: int) -> str:
    """The shortest exact text for a number of nanoseconds."""
    return _format(duration_ns, {k: v for k, v in _DURATION_NS.items() if k != "µs"}, zero="s")


def parse_rate_bps(text: str) -> int:
    """Bits per second, from "1Gbit/s", "100 Mbit/s" ..."""
    return _whole(text, _RATE_BPS, "a rate", '"1Gbit/s" or "100Mbit/s"')


def format_rate(rate_bps: int) -> str:
    """The shortest exact text for bits per second."""
    return _format(rate_bps, _RATE_BPS, zero="bit/s")


def parse_size_bytes(text: str) -> int:
    """Bytes, from "1500B", "64kB", "128KiB" ..."""
    return _whole(text, _SIZE_BYTES, "a size", '"1500B", "64kB" or "128KiB"')


def format_size(size_bytes: int) -> str:
    """The shortest exact text for a number of bytes."""
    return _format(size_bytes, _SIZE_BYTES, zero="B")


def parse_per_second(text: str) -> float:
    """Events per second, from "1000/s", "10k/s", "0.5/s" ..."""
    return float(_value(text, _PER_SECOND, "a rate of events", '"1000/s"'))


def format_per_second(per_second: float) -> str:
    """Events per second as text."""
    return f"{_plain(Decimal(repr(per_second)))}/s"


def parse_fraction(text: str) -> float:
    """A share between 0 and 1, from "1%" or "0.25 %"."""
    number = _value(text, {"%": 1}, "a share", '"1%"')
    if number > 100:
        raise QuantityError(f'"{text}" is more than the whole', "write at most 100%")
    return float(number / 100)


def format_fraction(fraction: float) -> str:
    """A share between 0 and 1 as a percentage."""
    return f"{_plain(Decimal(repr(fraction)) * 100)}%"


def _plain(number: Decimal) -> str:
    """A number without an exponent and without trailing zeros."""
    return f"{number.normalize():f}"


def _value(text: str, units: Mapping[str, int], kind: str, example: str) -> Decimal:
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise QuantityError(f'"{text}" is not {kind}', f"write it as {example}")
    unit = found[2] or ""
    if unit not in units:
        near = [known for known in units if known.lower() == unit.lower()]
        remedy = f'did you mean "{near[0]}"?' if near else f"write it as {example}"
        why = f'"{unit}" is not a unit of {kind}' if unit else f'"{text}" has no unit'
        raise QuantityError(why, remedy)
    with localcontext() as exact:
        exact.prec = 100
        return Decimal(found[1]) * units[unit]


def _whole(text: str, units: Mapping[str, int], kind: str, example: str) -> int:
    value = _value(text, units, kind, example)
    if value != value.to_integral_value():
        finest = next(iter(units))
        raise QuantityError(f'"{text}" is finer than 1 {finest}', f"write whole {finest}")
    if value > _MAX_BASE_UNITS:
        raise QuantityError(f'"{text}" is too large', f"write it as {example}")
    return int(value)


def _format(value: int, units: Mapping[str, int], *, zero: str) -> str:
    if value == 0:
        return f"0{zero}"
    texts = [
        f"{_plain(Decimal(value) / size)}{unit}"
        for unit, size in units.items()
        # Only powers of ten divide exactly with a point; other units must be whole.
        if value % size == 0 or (value >= size and str(size).strip("0") == "1")
    ]
    return min(texts, key=len)


def _reader(parse: Callable[[str], Any], example: str) -> Callable[[object], object]:
    def read(value: object) -> object:
        if not isinstance(value, str):
            raise PydanticCustomError(
                "quantity",
                "{why}",
                {"why": f"{value!r} has no unit", "remedy": f"write it as {example}"},
            )
        try:
            return parse(value)
        except QuantityError as error:
            raise PydanticCustomError(
                "quantity", "{why}", {"why": error.why, "remedy": error.remedy}
            ) from None

    return read


def _seconds(text: str) -> float:
    return parse_duration_ns(text) / NS_PER_S


def _seconds_text(duration_s: float) -> str:
    return format_duration(round(duration_s * NS_PER_S))


RateBps = Annotated[
    int,
    BeforeValidator(_reader(parse_rate_bps, '"1Gbit/s"'), json_schema_input_type=str),
    PlainSerializer(format_rate, return_type=str, when_used="json"),
]
"""Bits per second."""

DurationS = Annotated[
    float,
    BeforeValidator(_reader(_seconds, '"5s"'), json_schema_input_type=str),
    PlainSerializer(_seconds_text, return_type=str, when_used="json"),
]
"""Seconds, exact to the nanosecond."""

DurationNs = Annotated[
    int,
    BeforeValidator(_reader(parse_duration_ns, '"5s"'), json_schema_input_type=str),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
]
"""Nanoseconds."""

SizeBytes = Annotated[
    int,
    BeforeValidator(_reader(parse_size_bytes, '"64kB"'), json_schema_input_type=str),
    PlainSerializer(format_size, return_type=str, when_used="json"),
]
"""Bytes."""

Fraction = Annotated[
    float,
    BeforeValidator(_reader(parse_fraction, '"1%"'), json_schema_input_type=str),
    PlainSerializer(format_fraction, return_type=str, when_used="json"),
]
"""A share between 0 and 1."""

PerSecond = Annotated[
    float,
    BeforeValidator(_reader(parse_per_second, '"1000/s"'), json_schema_input_type=str),
    PlainSerializer(format_per_second, return_type=str, when_used="json"),
]
"""Events per second."""

_FAMILIES: tuple[Mapping[str, float], ...] = (
    {unit: float(size) for unit, size in _DURATION_NS.items()},
    {unit: float(size) for unit, size in _RATE_BPS.items()},
    {unit: float(size) for unit, size in _SIZE_BYTES.items()} | {"bytes": 1.0},
    {"packets/s": 1.0, "pps": 1.0, "kpps": 1e3, "Mpps": 1e6},
    {"1/s": 1.0, "/s": 1.0, "k/s": 1e3, "M/s": 1e6},
    {"1": 1.0, "%": 0.01},
)


def plural(count: int, noun: str) -> str:
    """``1 block``, ``5 blocks``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def convert(number: float, unit: str, wanted: str) -> float:
    """A figure of one unit in another of its kind: 1.5 "Mbit/s" is 1500000 "bit/s".

    Raises QuantityError if the units are of different kinds.
    """
    if unit == wanted:
        return number
    for family in _FAMILIES:
        if unit in family and wanted in family:
            return number * family[unit] / family[wanted]
    given = f'"{unit}"' if unit != "1" else "a number without a unit"
    units = next((list(family) for family in _FAMILIES if wanted in family), [wanted])
    raise QuantityError(
        f"{given} cannot be converted to {wanted}", f"write it in {', '.join(units)}"
    )
