"""Objects that an interrupted run left on this machine."""

from __future__ import annotations

from collections import Counter

from culvert.labs.namespace.cleanup import find_leftovers
from culvert.machine.check import FeatureCheck, FeatureGroup, FeatureStatus
from culvert.privilege import with_sudo

NEEDED_BY = ("a clean machine",)


def left_behind() -> FeatureCheck:
    """Leftovers of runs whose process is dead, as far as this user sees them."""
    kinds = Counter(str(leftover.kind) for leftover in find_leftovers())
    if not kinds:
        return _check(FeatureStatus.PRESENT, "no leftovers of earlier runs", None)
    listed = ", ".join(f"{count} x {kind}" for kind, count in sorted(kinds.items()))
    return _check(FeatureStatus.DEGRADED, f"earlier runs left: {listed}", with_sudo("clean"))


def _check(status: FeatureStatus, detail: str, remedy: str | None) -> FeatureCheck:
    return FeatureCheck("leftovers", FeatureGroup.LEFTOVERS, status, NEEDED_BY, detail, remedy)
