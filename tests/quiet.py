"""Trials that need a machine with time for them.

On a busy machine such a trial is honestly invalid: the sender was late, or a packet waited for a
processor. That is no defect of what the test is about, so the trial is repeated; if the machine
stays busy the test is skipped with that reason. On a quiet machine the same finding is an error.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from culvert.labs.vm.inside import guest
from culvert.proof.limits import GENERATOR, RECEIVER
from culvert.results import Status
from culvert.run.finding import TrialFinding

ATTEMPTS = 3
LOOK_S = 0.3
BUSY = 0.1
"""Share of the machine's CPU time that others use while the test itself waits."""
OF_THE_MACHINE = (
    GENERATOR,
    RECEIVER,
    "the link delivered the requested values",
    "the underlay has the requested delay",
    "the underlay has the requested rate",
    "the underlay has the requested loss",
    "the link has the requested rate",
)
"""Checks that fail where processors are not there in time, by the beginning of their names.

Beside other workers, tests/conftest.py repeats a test that fails with one of them, too."""


def quiet(attempt: Callable[[], TrialFinding], *, unmarked: bool = False) -> TrialFinding:
    """The finding of the first attempt that the machine did not spoil; skips the test if each of
    three was spoilt.

    ``unmarked``, for tests of figures: a trial is also spoilt if it is marked as disturbed.
    """
    for _ in range(ATTEMPTS):
        finding = attempt()
        spoilt = spoilt_by_the_machine(finding) or (unmarked and bool(finding.evidence.marks))
        if not spoilt or not _busy():
            return finding
    marks = ", ".join(mark.by for mark in finding.evidence.marks)
    pytest.skip(f"the machine stays busy: {finding.reason or marks}")


def spoilt_by_the_machine(finding: TrialFinding) -> bool:
    """Whether it is invalid because of a check that a busy machine fails."""
    failure = finding.evidence.first_failure
    return (
        finding.status is Status.INVALID
        and failure is not None
        and failure.name.startswith(OF_THE_MACHINE)
    )


def _busy() -> bool:
    """Whether others use processors; assumed beside other workers with tests, and in a guest, which
    cannot see its host's load."""
    beside = "PYTEST_XDIST_WORKER" in os.environ or guest() is not None
    return beside or used_by_others() >= BUSY


def used_by_others() -> float:
    """Share of the CPU time that is in use, or stolen, while this process sleeps."""
    before = _times()
    time.sleep(LOOK_S)  # the method: what is used now is used by others
    used, whole = (now - then for now, then in zip(_times(), before, strict=True))
    return used / whole if whole > 0 else 0.0


def _times() -> tuple[int, int]:
    """Ticks of all CPUs that were used, and all (proc_stat(5))."""
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return sum(fields) - idle, sum(fields)
