"""What an interrupted run left on this machine."""

from __future__ import annotations

from collections import Counter

from culvert.machine.check import Check, Group, Status
from culvert.machine.verdict import AS_ROOT
from culvert.privilege import Privilege, is_root, privilege

NEEDED_BY = ("a clean machine",)
REMEDY = "sudo culvert clean"


def left_behind() -> Check:
    """Leftovers of runs whose owner is dead; those of a live run are not counted."""
    # labs ask doctor for features, so doctor must not import labs while it is being imported
    from culvert.labs.netns.cleanup import find_leftovers  # noqa: PLC0415

    if privilege() is Privilege.OWN_NAMESPACES:
        return _check(Status.PRESENT, "runs without root leave nothing; root's see root's", None)
    if not is_root():
        return _check(Status.UNKNOWN, "only root sees all of it", AS_ROOT)
    kinds = Counter(str(leftover.kind) for leftover in find_leftovers())
    if not kinds:
        return _check(Status.PRESENT, "nothing was left behind by earlier runs", None)
    listed = ", ".join(f"{count} x {kind}" for kind, count in sorted(kinds.items()))
    return _check(Status.DEGRADED, f"earlier runs left: {listed}", REMEDY)


def _check(status: Status, detail: str, remedy: str | None) -> Check:
    return Check("leftovers", Group.LEFTOVERS, status, NEEDED_BY, detail, remedy)
