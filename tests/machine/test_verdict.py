"""How a kernel's answer becomes a finding."""

from __future__ import annotations

import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroute2.netlink.exceptions import NetlinkError

from culvert.machine.check import Finding, Status, degraded, missing, present, unknown
from culvert.machine.verdict import find, refused


def raising(error: Exception) -> Finding:
    def trial() -> Finding:
        raise error

    return find(trial, scratch=False)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (errno.EOPNOTSUPP, Status.MISSING),
        (errno.ENOENT, Status.MISSING),
        (errno.ENOSYS, Status.MISSING),
        (errno.EPROTONOSUPPORT, Status.MISSING),
        (errno.EPERM, Status.UNKNOWN),
        (errno.EACCES, Status.UNKNOWN),
        (errno.EBUSY, Status.UNKNOWN),
        (errno.ENOMEM, Status.UNKNOWN),
    ],
)
def test_refusals(code: int, status: Status) -> None:
    assert raising(OSError(code, os.strerror(code))).status is status
    assert raising(NetlinkError(code, os.strerror(code))).status is status


def test_the_kernels_own_words_are_kept() -> None:
    assert "no such cipher" in raising(NetlinkError(errno.ENOSYS, "no such cipher")).detail


def test_a_refusal_for_want_of_privilege_says_how_to_get_it() -> None:
    assert raising(PermissionError(errno.EPERM, "no")).remedy == "sudo culvert doctor"


def test_a_deadline_that_passed_proves_nothing() -> None:
    assert raising(TimeoutError("timed out")).status is Status.UNKNOWN


def test_a_bug_in_a_trial_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        raising(ZeroDivisionError())


@given(st.integers(-(2**31 - 1), 2**31 - 1), st.none() | st.text())
def test_any_errno_gets_a_reason(code: int, text: str | None) -> None:
    finding = refused(code, text)

    assert finding.status in {Status.MISSING, Status.UNKNOWN}
    assert finding.detail


def test_findings_by_name() -> None:
    assert [f("x").status for f in (present, degraded, missing, unknown)] == list(Status)
