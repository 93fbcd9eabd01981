"""What a trial yields: figures, values over time, histograms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

from culvert.errors import CulvertError
from culvert.metrics import MetricSpec


class Status(StrEnum):
    """The result of a trial. All except OK have a reason and a remedy."""

    OK = "ok"
    INVALID = "invalid"
    """Measured, but not proved: its figures do not count."""
    FAILED = "failed"
    UNSUPPORTED = "unsupported"


MOST_FIGURE = 1e18
"""Greatest figure of any unit, and its negative the least: nanoseconds of thirty years, bits of a
year at 30 Gbit/s. Statistics multiply and square figures, and must stay finite."""
LEAST_FIGURE = 1e-30
"""Smallest figure beside 0, far below the rounding error of a nanosecond in seconds: statistics
divide by figures too."""


def is_figure(value: float) -> bool:
    """Whether a metric or a point of a series can have this value: 0, or one within bounds."""
    return value == 0 or LEAST_FIGURE <= abs(value) <= MOST_FIGURE


@dataclass(frozen=True)
class Metric:
    """One figure of a trial. ``labels`` distinguish figures with one name (node, process ...)."""

    name: str
    unit: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not is_figure(self.value):
            raise _impossible(f"metric {self.name}", self.value)


def measured(
    specs: Iterable[MetricSpec],
    values: Mapping[str, float | None],
    labels: Mapping[str, str] = MappingProxyType({}),
) -> list[Metric]:
    """The values of declared metrics, in their units. None: it could not be measured."""
    units = {spec.name: spec.unit for spec in specs}
    return [
        Metric(name, units[name], value, dict(labels))
        for name, value in values.items()
        if value is not None
    ]


@dataclass(frozen=True)
class Series:
    """Values over time: ``t_ns`` (CLOCK_MONOTONIC, or since the start of the trial), one per
    value."""

    name: str
    unit: str
    t_ns: Sequence[int]
    values: Sequence[float]
    labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, unit: str, points: Iterable[tuple[int, float]], **labels: str) -> Series:
        """From points of a time and a value."""
        times, values = [*zip(*points, strict=True)] or ((), ())
        return cls(name, unit, list(times), list(values), labels)

    def __post_init__(self) -> None:
        if len(self.t_ns) != len(self.values):
            raise CulvertError(
                f"series {self.name}",
                f"it has {len(self.t_ns)} times and {len(self.values)} values",
                "report it as a defect of the measurement",
            )
        for value in self.values:
            if not is_figure(value):
                raise _impossible(f"series {self.name}", value)


class Recorded(Protocol):
    """An answer with a histogram in the encoding of ``Histogram``."""

    @property
    def histogram(self) -> str | None:
        """None if nothing was recorded."""


@dataclass(frozen=True)
class Histogram:
    """An HDR histogram, V2 encoding (compressed, base64), as HdrHistogram writes it."""

    name: str
    unit: str
    hdr_v2: str
    labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def all(cls, **found: Recorded | None) -> list[Histogram]:
        """Of times in ns, by name; none where nothing was recorded."""
        return [
            cls(name, "ns", one.histogram)
            for name, one in found.items()
            if one is not None and one.histogram is not None
        ]


def _impossible(what: str, value: float) -> CulvertError:
    return CulvertError(
        what,
        f"its value is {value}, which is no figure: 0, or from {LEAST_FIGURE:g} to {MOST_FIGURE:g}",
        "report it as a defect of the measurement; of another tool's results, check its file",
    )
