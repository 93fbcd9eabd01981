"""From a kernel's refusal to a finding."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from pyroute2.netlink.exceptions import NetlinkError

from culvert.machine.check import FeatureFinding, missing, unknown
from culvert.machine.scratch import UnshareRefusedError, in_scratch

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

AS_ROOT = "sudo culvert doctor"


def find(trial: Callable[[], FeatureFinding], *, scratch: bool) -> FeatureFinding:
    """Run a trial; a refusal by the kernel becomes a finding, any other exception is a defect."""
    try:
        return in_scratch(trial) if scratch else trial()
    except UnshareRefusedError as error:
        return unknown(f"cannot be tried: no new namespace ({error.strerror})", AS_ROOT)
    except NetlinkError as error:
        return refused(error.code, str(error.args[1]) if len(error.args) > 1 else None)
    except TimeoutError:
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
