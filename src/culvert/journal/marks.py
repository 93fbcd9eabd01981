"""The evidence of a trial: its keys, and what is read of it, which a stranger may have written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MARKS = "marks"
"""The key in a trial's evidence."""
CHECKS = "checks"
"""The key of those of the proof."""
HOST_LOST = "host_lost"
"""The key in the evidence of a trial whose host could not be reached (any more)."""
FILLED_SHARE = "filled_share"
"""Of a check: the least share of what the links carry that a rate of the baseline reaches."""
SEARCHED = "searched_packets"
"""Of a check: the packets that were searched for clear text."""
NOTES = "notes"
"""The key in the evidence of a verification of real links: what changed since the block before."""
PATH = "path"
"""The label of figures measured on one of several paths."""


_LARGEST = 1e18
"""Of a mark's figures; no clock is set by more, in ns."""


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


def marks_of(evidence: Mapping[str, Any]) -> tuple[Mark, ...]:
    """The marks of a trial, from its evidence; unknown kinds are left out."""
    marks = evidence.get(MARKS)
    found = [each for each in (marks if isinstance(marks, list) else []) if _is_mark(each)]
    return tuple(Mark(Disturber(each["by"]), each["value"], each["bound"]) for each in found)


def checks_of(evidence: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The checks of a trial's proof, from its evidence."""
    checks = evidence.get(CHECKS)
    return [one for one in checks if isinstance(one, Mapping)] if isinstance(checks, list) else []


def _is_mark(found: object) -> bool:
    return (
        isinstance(found, Mapping)
        and found.get("by") in list(Disturber)
        and all(_is_number(found.get(name)) for name in ("value", "bound"))
    )


def _is_number(found: object) -> bool:
    return isinstance(found, int | float) and abs(found) < _LARGEST
