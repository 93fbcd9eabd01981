"""Marks in the evidence of a trial: disturbances of the machine that exceeded a bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MARKS = "marks"
"""The key in a trial's evidence."""
HOST_LOST = "host_lost"
"""The key in the evidence of a trial whose host could not be reached (any more)."""
PART = "part"
"""The key in the evidence of a trial of some paths only, those that did not need a lost host."""

MISSING_PATHS = "missing_paths"
"""The key in the evidence of a trial that lost a host: the paths that were not measured."""
NOTES = "notes"
"""The key in the evidence of a verification of real links: what changed since the block before."""
PATH = "path"
"""The label of figures measured on one of several paths."""


class Disturber(StrEnum):
    """The kinds of marks."""

    FOREIGN = "foreign CPU time"
    STEAL = "stolen CPU time"
    CLOCK = "clock step"
    QUOTA = "CPU quota"
    HEAT = "CPU throttled"
    RUN = "another run"


@dataclass(frozen=True)
class Mark:
    """One exceeded bound. ``value`` and ``bound``: shares of 1, ns, times, or
    a number of runs."""

    by: Disturber
    value: float
    bound: float


def disturbers(evidence: Mapping[str, Any]) -> frozenset[Disturber]:
    """The kinds of marks of a trial, from its evidence; unknown names are left out."""
    marks = evidence.get(MARKS)
    found = marks if isinstance(marks, list) else []
    names = [mark.get("by") for mark in found if isinstance(mark, Mapping)]
    return frozenset(Disturber(name) for name in names if name in list(Disturber))
