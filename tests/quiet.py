"""Trials that need a machine with time for them.

On a busy machine such a trial is honestly invalid: the sender was late, or a packet waited for a
processor. That is no defect of what the test is about, so the trial is repeated, and if others are
measured to use the processors each time, the test is skipped with that reason. On a quiet machine
the same finding is an error. Beside other workers with tests, tests/repeated.py repeats the test.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest
from _pytest.outcomes import Skipped

from culvert.labs.guest import guest
from culvert.proof.limits import GENERATOR, RECEIVER
from culvert.results import Status
from culvert.run.trials.finding import TrialFinding

ATTEMPTS = 3
LOOK_S = 0.3
BUSY = 0.1
"""Share of the machine's CPU time that others use while the test itself waits."""
NAP_S = 0.005
LATE_S = 0.005
"""A guest cannot see its host's load: it is busy if half of all naps end so much too late."""
MARKED = "the trial is marked as disturbed"


def failed(*names: str) -> tuple[str, ...]:
    """Patterns of these checks' failures; a name may end in a detail."""
    return tuple(f"check failed: {name}" for name in names)


LATENESS = (
    *failed(
        GENERATOR,
        RECEIVER,
        "the link delivered the requested values: .*(left the wire late|did not fit in the wire)",
    ),
    MARKED,
)
"""What sender, receiver and wire count of their own lateness, as patterns."""
OF_THE_MACHINE = (
    *LATENESS,
    *failed(
        "the underlay has the requested (delay|rate|loss)",
        "the link has the requested rate",
    ),
)
"""What also fails where processors are not there in time: reasons to repeat a test. A link that was
late says so first; one that was not has shaped wrongly, which is never excused."""


class MachineBusy(Skipped):
    """Others used the processors in each attempt."""


def quiet(attempt: Callable[[], TrialFinding], *, unmarked: bool = False) -> TrialFinding:
    """The finding of the first attempt that the machine did not spoil; skips the test if each of
    three was spoilt.

    ``unmarked``, for tests of figures: a trial is also spoilt if it is marked as disturbed.
    """
    attempts = 1 if beside_others() else ATTEMPTS
    for _ in range(attempts):
        finding = attempt()
        marks = ", ".join(mark.by for mark in finding.evidence.marks) if unmarked else ""
        if not (spoilt_by_the_machine(finding) or marks) or not busy():
            return finding
    text = f"{MARKED}: {marks}" if marks else finding.reason
    if beside_others():
        pytest.fail(text)
    if not lateness(text):
        return finding
    raise MachineBusy(f"the machine stays busy: {text}")


def spoilt_by_the_machine(finding: TrialFinding) -> bool:
    """Whether it is invalid because of a check that a busy machine fails."""
    return finding.status is Status.INVALID and any(
        re.search(pattern, finding.reason) for pattern in OF_THE_MACHINE
    )


def lateness(text: str) -> str | None:
    """What sender, receiver or wire say of their own lateness there."""
    found = (re.search(pattern, text) for pattern in LATENESS)
    return next((match[0] for match in found if match), None)


def beside_others() -> bool:
    """Whether other workers run tests meanwhile."""
    return "PYTEST_XDIST_WORKER" in os.environ


def busy() -> bool:
    """Whether others use the processors now."""
    return late_by_s() >= LATE_S if guest() is not None else used_by_others() >= BUSY


def late_by_s() -> float:
    """How much too late a nap ends, as the median of many."""
    late = []
    for _ in range(round(LOOK_S / NAP_S)):
        begun = time.monotonic()
        time.sleep(NAP_S)  # the method
        late.append(time.monotonic() - begun - NAP_S)
    return median(late)


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
