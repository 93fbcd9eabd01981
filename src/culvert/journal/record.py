"""Records of the journal: a run and its trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from culvert.results import Histogram, Metric, Series, Status
from culvert.study.study import Study


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
class InstallRecord:
    """The installation of a VPN: its duration is a result too."""

    vpn: str
    role: str
    duration_s: float
    changed: bool
    ok: bool
    version: str = ""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


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
        cls, study: Study, *, lab: str, culvert_version: str, environment: Mapping[str, Any]
    ) -> RunHead:
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
