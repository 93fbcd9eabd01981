"""What a trial yields: figures, values over time, histograms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from culvert.errors import CulvertError


@dataclass(frozen=True)
class Metric:
    """One figure of a trial. ``labels`` distinguish figures with one name (node, process ...)."""

    name: str
    unit: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise CulvertError(
                f"metric {self.name}",
                f"its value is {self.value}, which is not a finite number",
                "report it as a defect of the measurement",
            )


@dataclass(frozen=True)
class Series:
    """Values over time: ``t_ns`` (CLOCK_MONOTONIC, or since the start of the trial), one per
    value."""

    name: str
    unit: str
    t_ns: Sequence[int]
    values: Sequence[float]
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.t_ns) != len(self.values):
            raise CulvertError(
                f"series {self.name}",
                f"it has {len(self.t_ns)} times and {len(self.values)} values",
                "report it as a defect of the measurement",
            )


@dataclass(frozen=True)
class Histogram:
    """An HDR histogram, V2 encoding (compressed, base64), as HdrHistogram writes it."""

    name: str
    unit: str
    hdr_v2: str
    labels: Mapping[str, str] = field(default_factory=dict)
