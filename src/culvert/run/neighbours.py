"""Other runs on this machine: they share its processors, so each disturbs the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from culvert.journal.marks import Disturber, Mark
from culvert.labs.netns import owner
from culvert.runid import new_run_id


@contextmanager
def announced() -> Iterator[None]:
    """While the body runs, other runs see this process as one, between its trials as well. Without
    the right to write there it is seen by nobody."""
    run_id = new_run_id()
    try:
        owner.claim(run_id)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        owner.release(run_id)


def warning() -> str | None:
    """What to warn of before a run begins; None if it is alone."""
    pids = sorted({other.pid for other in owner.others()})
    if not pids:
        return None
    named = ", ".join(map(str, pids))
    return (
        f"warning: another run uses this machine (process {named}): they disturb each other, "
        "and the trials of both are marked; wait for it to end, or end it"
    )


class Neighbours:
    """Runs that were seen during a trial."""

    def __init__(self) -> None:
        self._seen: set[owner.Owner] = set()

    def look(self) -> None:
        """Remember the runs that others own now."""
        self._seen |= owner.others()

    def marks(self) -> list[Mark]:
        """A mark with the number of runs if there was any."""
        return [Mark(Disturber.RUN, len(self._seen), 0)] if self._seen else []
