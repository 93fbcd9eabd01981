"""All checks of doctor, in one list."""

from __future__ import annotations

from collections.abc import Sequence

from culvert.doctor.leftovers import left_behind
from culvert.machine.check import FeatureCheck, FeatureStatus
from culvert.machine.features import FEATURES, check


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
