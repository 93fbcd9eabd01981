"""The result of a reader: runs, and the parts that could not be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from culvert.results import Histogram, Metric, Series, Status

CLEAN = "clean"
"""The condition without impairments."""
UNSTATED = "unstated"
"""The condition of data that does not state its condition."""

REMEDY = "check the file; it is imported unchanged"


@dataclass(frozen=True)
class Lost:
    """A part of a file that is in no trial. Lines count from 1; 0 is the whole file."""

    file: str
    line: int
    why: str
    count: int = 1
    """Number of places: more than one if there were too many to list."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.why}{f' ({self.count} places)' if self.count > 1 else ''}"


class Side(StrEnum):
    """The program that wrote a file, of the two of a test."""

    CLIENT = "client"
    SERVER = "server"


@dataclass(frozen=True)
class ForeignRun:
    """One run of another tool, which becomes a trial.

    ``name`` is the VPN's name in the data. ``name`` and ``condition`` are empty, and ``started_at``
    is None, if the data does not state them.
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
    reported: Mapping[str, Any] = field(default_factory=dict)
    """Other facts in the file (versions, hosts), kept as evidence."""
    note: str = ""
    """What the reader of its figures must know; runs with one note are told of once."""
    test: str = ""
    """Identifies the test to both sides, if both record it."""
    side: Side = Side.CLIENT
    received: bool = True
    """The program of this side received the traffic."""


@dataclass
class Found:
    """The content of one file."""

    runs: list[ForeignRun] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    other: bool = False
    """It belongs to the data, but has nothing that is imported."""


def judged(failures: Sequence[str], doubts: Sequence[str]) -> tuple[Status, str]:
    """The status of a run: failed if it has no figure, invalid if one is impossible."""
    if failures:
        return Status.FAILED, "; ".join(failures)
    if doubts:
        return Status.INVALID, "; ".join(doubts)
    return Status.OK, ""
