"""Records of the journal: a run and its trials."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol

from culvert.errors import CulvertError


class Status(StrEnum):
    """The result of a trial. All except OK have a reason and a remedy."""

    OK = "ok"
    INVALID = "invalid"
    """Measured, but not proved: its figures do not count."""
    FAILED = "failed"
    UNSUPPORTED = "unsupported"


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


@dataclass(frozen=True)
class TrialRecord:
    """One trial. Blocks and positions count from 1; warm-up blocks are 0, -1, ...

    ``parameters`` is canonical JSON; ``evidence`` can be written as JSON.
    """

    block: int
    position: int
    cell_key: str
    vpn: str
    condition: str
    measurement: str
    parameters: str
    status: Status
    started_at: datetime
    duration_s: float
    measuring_s: float = 0.0
    version: str = ""
    reason: str = ""
    remedy: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    metrics: Sequence[Metric] = ()
    series: Sequence[Series] = ()
    histograms: Sequence[Histogram] = ()


@dataclass(frozen=True)
class Part:
    """What a trial measured on some paths, those that did not need a lost host."""

    paths: tuple[str, ...]
    metrics: tuple[Metric, ...]


@dataclass(frozen=True)
class InstallRecord:
    """The installation of a VPN: its duration is a result too."""

    vpn: str
    role: str
    duration_s: float
    changed: bool
    ok: bool
    version: str = ""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


class StudyLike(Protocol):
    """The parts of a study that the journal stores."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def title(self) -> str: ...  # noqa: D102
    @property
    def seed(self) -> int: ...  # noqa: D102
    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def canonical(self) -> str: ...  # noqa: D102
    @property
    def digest(self) -> str: ...  # noqa: D102


@dataclass(frozen=True)
class RunHead:
    """Facts about a run before its first trial. ``environment`` can be written as JSON."""

    study: str
    title: str
    toml: str
    canonical: str
    digest: str
    seed: int
    lab: str
    culvert_version: str
    environment: Mapping[str, Any]

    @classmethod
    def of(
        cls, study: StudyLike, *, lab: str, culvert_version: str, environment: Mapping[str, Any]
    ) -> RunHead:
        """The head of a run of a study."""
        return cls(
            study=study.name,
            title=study.title,
            toml=study.text,
            canonical=study.canonical,
            digest=study.digest,
            seed=study.seed,
            lab=lab,
            culvert_version=culvert_version,
            environment=environment,
        )
