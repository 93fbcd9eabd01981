"""Every feature that labs, VPNs and measurements need, each with its trial.

Drivers and labs call ``features.has("esp")``; a trial runs once per process.
"""

from __future__ import annotations

from functools import cache

from culvert.errors import UsageError
from culvert.machine.check import Feature, FeatureCheck, FeatureFinding, FeatureGroup, FeatureStatus
from culvert.machine.features.impairment import IMPAIRMENT
from culvert.machine.features.lab import LAB, PRIVILEGES
from culvert.machine.features.measurement import MEASUREMENT
from culvert.machine.features.steadiness import STEADINESS
from culvert.machine.features.vpn import VPN
from culvert.machine.trials import commands
from culvert.machine.trials.programs import PROGRAMS
from culvert.machine.verdict import AS_ROOT, find

FEATURES: tuple[Feature, ...] = (
    *PRIVILEGES,
    *LAB,
    *VPN,
    *IMPAIRMENT,
    *MEASUREMENT,
    *PROGRAMS,
    *STEADINESS,
)

_BY_NAME = {feature.name: feature for feature in FEATURES}


def has(name: str) -> bool:
    """Whether the feature exists (it may be degraded); False if it could not be tried.

    Raises UsageError for a name that is not in FEATURES.
    """
    return finding(name).status in {FeatureStatus.PRESENT, FeatureStatus.DEGRADED}


def check(name: str) -> FeatureCheck:
    """The feature's finding, with the parts that need it and the remedy."""
    feature = _feature(name)
    found = finding(name)
    return FeatureCheck(
        name=name,
        group=feature.group,
        status=found.status,
        needed_by=feature.needed_by,
        detail=found.detail,
        remedy=_remedy(feature, found),
    )


@cache
def finding(name: str) -> FeatureFinding:
    """The result of the feature's trial, which runs at the first call in a process."""
    feature = _feature(name)
    return find(feature.trial, scratch=feature.scratch)


def _feature(name: str) -> Feature:
    if name in _BY_NAME:
        return _BY_NAME[name]
    if commands.commands_of(name):
        trial = commands.trial(name)
        return Feature(name, FeatureGroup.VPN, (), "use another kernel", trial, scratch=True)
    raise UsageError(
        f"feature {name!r}", "is unknown to doctor", f"use one of {', '.join(_BY_NAME)}"
    )


def _remedy(feature: Feature, found: FeatureFinding) -> str | None:
    if found.status is FeatureStatus.PRESENT:
        return None
    if found.remedy is not None:
        return found.remedy
    return AS_ROOT if found.status is FeatureStatus.UNKNOWN else feature.remedy
