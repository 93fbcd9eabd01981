"""What a check says, and what a feature is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class FeatureStatus(StrEnum):
    """``degraded``: it works, with less than it should give. ``unknown``: could not be tried."""

    PRESENT = "present"
    DEGRADED = "degraded"
    MISSING = "missing"
    UNKNOWN = "unknown"


class FeatureGroup(StrEnum):
    """What a feature is for, in the order in which it is shown."""

    PRIVILEGES = "privileges"
    LAB = "lab"
    VPN = "VPNs"
    IMPAIRMENT = "impairments"
    MEASUREMENT = "measurements"
    PROGRAM = "programs"
    STEADINESS = "steadiness"
    LEFTOVERS = "leftovers"


@dataclass(frozen=True)
class FeatureFinding:
    """What a trial came to; ``remedy`` replaces the feature's own where it knows better."""

    status: FeatureStatus
    detail: str
    remedy: str | None = None


@dataclass(frozen=True)
class Feature:
    """Something a machine has or lacks, and how to find out.

    ``needed_by`` names VPNs, links, impairments or measurements. ``trial`` decides by doing;
    if it must be done in a namespace of its own, ``scratch`` is True.
    """

    name: str
    group: FeatureGroup
    needed_by: tuple[str, ...]
    remedy: str
    trial: Callable[[], FeatureFinding]
    scratch: bool = False


@dataclass(frozen=True)
class FeatureCheck:
    """A feature's finding on this machine, for people and programs to read.

    ``remedy`` is None where nothing is to be done.
    """

    name: str
    group: FeatureGroup
    status: FeatureStatus
    needed_by: tuple[str, ...]
    detail: str
    remedy: str | None


def present(detail: str) -> FeatureFinding:
    """It is there and was seen to work."""
    return FeatureFinding(FeatureStatus.PRESENT, detail)


def degraded(detail: str, remedy: str | None = None) -> FeatureFinding:
    """It works, but a measurement suffers."""
    return FeatureFinding(FeatureStatus.DEGRADED, detail, remedy)


def missing(detail: str, remedy: str | None = None) -> FeatureFinding:
    """It was tried and is not there."""
    return FeatureFinding(FeatureStatus.MISSING, detail, remedy)


def unknown(detail: str, remedy: str | None = None) -> FeatureFinding:
    """It could not be tried."""
    return FeatureFinding(FeatureStatus.UNKNOWN, detail, remedy)
