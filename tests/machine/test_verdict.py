"""How a kernel's answer becomes a finding."""

from __future__ import annotations

import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroute2.netlink.exceptions import NetlinkError

from culvert.machine.check import (
    FeatureFinding,
    FeatureStatus,
    degraded,
    find,
    missing,
    present,
    refused,
    unknown,
)
from culvert.privilege import with_sudo


def raising(error: Exception) -> FeatureFinding:
    def trial() -> FeatureFinding:
        raise error

    return find(trial, scratch=False)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (errno.EOPNOTSUPP, FeatureStatus.MISSING),
        (errno.ENOENT, FeatureStatus.MISSING),
        (errno.ENOSYS, FeatureStatus.MISSING),
        (errno.EPROTONOSUPPORT, FeatureStatus.MISSING),
        (errno.EPERM, FeatureStatus.UNKNOWN),
        (errno.EACCES, FeatureStatus.UNKNOWN),
        (errno.EBUSY, FeatureStatus.UNKNOWN),
        (errno.ENOMEM, FeatureStatus.UNKNOWN),
    ],
)
def test_the_errno_decides_between_missing_and_unknown(code: int, status: FeatureStatus) -> None:
    assert raising(OSError(code, os.strerror(code))).status is status
    assert raising(NetlinkError(code, os.strerror(code))).status is status


def test_the_kernels_own_words_are_kept() -> None:
    assert "no such cipher" in raising(NetlinkError(errno.ENOSYS, "no such cipher")).detail


def test_a_refusal_for_want_of_privilege_says_how_to_get_it() -> None:
    assert raising(PermissionError(errno.EPERM, "no")).remedy == with_sudo("doctor")


def test_a_deadline_that_passed_proves_nothing() -> None:
    assert raising(TimeoutError("timed out")).status is FeatureStatus.UNKNOWN


def test_a_bug_in_a_trial_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        raising(ZeroDivisionError())


@given(st.integers(-(2**31 - 1), 2**31 - 1), st.none() | st.text())
def test_any_errno_gets_a_reason(code: int, text: str | None) -> None:
    finding = refused(code, text)

    assert finding.status in {FeatureStatus.MISSING, FeatureStatus.UNKNOWN}
    assert finding.detail


def test_findings_by_name() -> None:
    assert [f("x").status for f in (present, degraded, missing, unknown)] == list(FeatureStatus)
