"""A rate to offer: packets per second, or bits of UDP payload per second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.study.table import problem
from culvert.units import (
    QuantityError,
    format_per_second,
    format_rate,
    parse_per_second,
    parse_rate_bps,
)

REMEDY = 'write it as "1000/s" (packets) or "10Mbit/s" (payload)'


@dataclass(frozen=True)
class OfferedRate:
    """The rate of all flows together: either ``pps`` or ``bps`` is set, the other is None."""

    pps: float | None = None
    bps: int | None = None

    def packets_per_s(self, sizes: Sequence[int]) -> float:
        """The rate in packets, with inner IP packets of these sizes in bytes, in turn."""
        if self.bps is None:
            return self.pps or 0.0
        payload_bits = 8 * (sum(sizes) / len(sizes) - UDP_HEADERS)
        return self.bps / payload_bits


def _read(value: object) -> object:
    if not isinstance(value, str):
        raise problem(f"{value!r} has no unit", REMEDY)
    try:
        if "bit/s" in value:
            rate = OfferedRate(bps=parse_rate_bps(value))
        else:
            rate = OfferedRate(pps=parse_per_second(value))
    except QuantityError as error:
        raise problem(error.why, REMEDY) from None
    if not (rate.pps or rate.bps):
        raise problem(f'"{value}" sends nothing', REMEDY)
    return rate


def _write(rate: OfferedRate) -> str:
    return format_per_second(rate.pps or 0.0) if rate.bps is None else format_rate(rate.bps)


AskedRate = Annotated[
    OfferedRate,
    BeforeValidator(_read, json_schema_input_type=str),
    PlainSerializer(_write, return_type=str, when_used="json"),
]
"""A parameter of a study."""
