"""All checks of doctor, in one list: the machine's features, and what interrupted runs left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from culvert.labs.namespace.cleanup import find_leftovers
from culvert.machine.check import FeatureCheck, FeatureGroup, FeatureStatus
from culvert.machine.features import FEATURES, check
from culvert.privilege import with_sudo


def examine() -> list[FeatureCheck]:
    """Try every feature and search for leftovers; changes nothing, and needs root to try most
    features."""
    return [*(check(feature.name) for feature in FEATURES), left_behind()]


def ready(checks: Sequence[FeatureCheck]) -> bool:
    """Whether the default lab can be created and can measure here."""
    by_name = {check.name: check for check in checks}
    return all(
        by_name[name].status in {FeatureStatus.PRESENT, FeatureStatus.DEGRADED}
        for name in (
            "root",
            "capabilities",
            "network-namespaces",
            "mount-namespaces",
            "veth",
            "capture",
            "culvert-probe",
        )
    )


def left_behind() -> FeatureCheck:
    """Leftovers of runs whose process is dead, as far as this user sees them."""
    kinds = Counter(str(leftover.kind) for leftover in find_leftovers())
    listed = ", ".join(f"{count} x {kind}" for kind, count in sorted(kinds.items()))
    return FeatureCheck(
        "leftovers",
        FeatureGroup.LEFTOVERS,
        FeatureStatus.DEGRADED if kinds else FeatureStatus.PRESENT,
        ("a clean machine",),
        f"earlier runs left: {listed}" if kinds else "no leftovers of earlier runs",
        with_sudo("clean") if kinds else None,
    )
