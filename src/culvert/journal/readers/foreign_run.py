"""What a reader of a foreign format gives back: runs, and what could not be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from culvert.journal.record import Histogram, Metric, Series, Status

CLEAN = "clean"
"""The condition without impairments."""
UNSTATED = "unstated"
"""The condition of data that does not say under which it was measured."""

REMEDY = "look at the file; it is imported as it is"


@dataclass(frozen=True)
class Lost:
    """Something of a file that is in no trial. Lines count from 1; 0 is the file as a whole."""

    file: str
    line: int
    why: str
    count: int = 1
    """Places: more than one where they are too many to be told apart."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.why}{f' ({self.count} places)' if self.count > 1 else ''}"


@dataclass(frozen=True)
class ForeignRun:
    """One run of a foreign tool: a trial to be.

    ``name`` is what the data calls the VPN, empty where it does not. ``condition`` empty means that
    the data does not say. ``started_at`` None: it does not say when either.
    """

    file: str
    line: int
    measurement: str
    name: str = ""
    condition: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    status: Status = Status.OK
    reason: str = ""
    started_at: datetime | None = None
    duration_s: float = 0.0
    metrics: Sequence[Metric] = ()
    series: Sequence[Series] = ()
    histograms: Sequence[Histogram] = ()
    told: Mapping[str, Any] = field(default_factory=dict)
    """What the file says besides (versions, hosts): kept as evidence."""


@dataclass
class Found:
    """All that one file holds."""

    runs: list[ForeignRun] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)


def judged(failures: Sequence[str], doubts: Sequence[str]) -> tuple[Status, str]:
    """The status of a run: failed where it has no figure, invalid where one is impossible."""
    if failures:
        return Status.FAILED, "; ".join(failures)
    if doubts:
        return Status.INVALID, "; ".join(doubts)
    return Status.OK, ""
