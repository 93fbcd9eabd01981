"""A feature of the machine, and the finding of its check."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from pyroute2.netlink.exceptions import NetlinkError

from culvert.machine.scratch import UnshareRefusedError, in_scratch
from culvert.privilege import with_sudo


class FeatureStatus(StrEnum):
    """``degraded``: it works with a limitation. ``unknown``: it could not be tried."""

    PRESENT = "present"
    DEGRADED = "degraded"
    MISSING = "missing"
    UNKNOWN = "unknown"


class FeatureGroup(StrEnum):
    """The use of a feature, in the order of display."""

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
    """The result of a trial; ``remedy`` replaces the feature's own if it is more specific."""

    status: FeatureStatus
    detail: str
    remedy: str | None = None


Trial = Callable[[], FeatureFinding]


@dataclass(frozen=True)
class Feature:
    """Something that a machine may have, and the trial that finds out.

    ``needed_by`` names VPNs, links, impairments or measurements. ``trial`` decides by trying it;
    ``scratch``: in a namespace of its own.
    """

    name: str
    group: FeatureGroup
    needed_by: tuple[str, ...]
    remedy: str
    trial: Trial
    scratch: bool = False


@dataclass(frozen=True)
class FeatureCheck:
    """A feature's finding on this machine, for people and programs.

    ``remedy`` is None if nothing needs to be done.
    """

    name: str
    group: FeatureGroup
    status: FeatureStatus
    needed_by: tuple[str, ...]
    detail: str
    remedy: str | None


def present(detail: str) -> FeatureFinding:
    """It exists and works."""
    return FeatureFinding(FeatureStatus.PRESENT, detail)


def degraded(detail: str, remedy: str | None = None) -> FeatureFinding:
    """It works, but it limits measurements."""
    return FeatureFinding(FeatureStatus.DEGRADED, detail, remedy)


def missing(detail: str, remedy: str | None = None) -> FeatureFinding:
    """It was tried and is missing."""
    return FeatureFinding(FeatureStatus.MISSING, detail, remedy)


def unknown(detail: str, remedy: str | None = None) -> FeatureFinding:
    """It could not be tried."""
    return FeatureFinding(FeatureStatus.UNKNOWN, detail, remedy)


ABSENT = frozenset(
    {
        errno.EAFNOSUPPORT,
        errno.EINVAL,
        errno.ENODEV,
        errno.ENOENT,
        errno.ENOPROTOOPT,
        errno.ENOSYS,
        errno.ENOTTY,
        errno.ENXIO,
        errno.EOPNOTSUPP,
        errno.EPROTONOSUPPORT,
        errno.ESOCKTNOSUPPORT,
    }
)
"""Errno values of kernels without a kind of link, qdisc, family, protocol or option."""

AS_ROOT = with_sudo("doctor")


def find(trial: Callable[[], FeatureFinding], *, scratch: bool) -> FeatureFinding:
    """Run a trial; a refusal by the kernel becomes a finding, any other exception is a defect."""
    try:
        return in_scratch(trial) if scratch else trial()
    except UnshareRefusedError as error:
        return unknown(f"cannot be tried: no new namespace ({error.strerror})", AS_ROOT)
    except NetlinkError as error:
        return refused(error.code, str(error.args[1]) if len(error.args) > 1 else None)
    except (TimeoutError, subprocess.TimeoutExpired):
        return unknown("was tried, but there was no answer within the deadline")
    except OSError as error:
        return refused(error.errno or 0, error.strerror)


def refused(code: int, text: str | None = None) -> FeatureFinding:
    """The finding for an errno."""
    name = errno.errorcode.get(code, str(code))
    reason = f"{text or os.strerror(code)} ({name})"
    if code in ABSENT:
        return missing(f"this kernel returned: {reason}")
    if code in {errno.EPERM, errno.EACCES}:
        return unknown(f"cannot be tried: {reason}", AS_ROOT)
    return unknown(f"was tried, but the answer is unclear: {reason}")
