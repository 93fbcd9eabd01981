"""What this process may do, and the namespaces it can make."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from culvert.machine.check import FeatureFinding, missing, present, unknown
from culvert.machine.scratch import CLONE_NEWNET, CLONE_NEWNS, UnshareRefusedError, in_scratch
from culvert.machine.tree import Tree

GIVE_ROOT = "run it with sudo, or as root"
NEEDED: Mapping[str, int] = {
    "CAP_KILL": 5,
    "CAP_NET_ADMIN": 12,
    "CAP_NET_RAW": 13,
    "CAP_SYS_PTRACE": 19,
    "CAP_SYS_ADMIN": 21,
}
"""Capabilities (linux/capability.h) to make namespaces and interfaces, capture, and look at and
end processes in them."""


def root() -> FeatureFinding:
    """Most of what follows needs root."""
    if os.geteuid() == 0:
        return present("running as root")
    return missing(f"running as user id {os.geteuid()}: labs cannot be made")


def capabilities() -> FeatureFinding:
    """A container may give root without what root can do."""
    mask = parse_effective(Tree().text("/proc/self/status") or "")
    if mask is None:
        return unknown("/proc/self/status does not tell")
    lacking = [name for name, bit in NEEDED.items() if not mask >> bit & 1]
    if lacking:
        remedy = None if os.geteuid() == 0 else GIVE_ROOT
        return missing(f"without {', '.join(lacking)}", remedy)
    return present(", ".join(NEEDED))


def parse_effective(status: str) -> int | None:
    """The mask of effective capabilities in /proc/PID/status; None if it is not there."""
    for line in status.splitlines():
        key, _, value = line.partition(":")
        if key == "CapEff":
            try:
                return int(value.strip(), 16)
            except ValueError:
                return None
    return None


def network_namespaces() -> FeatureFinding:
    """A network namespace of our own, seen to be another one."""
    return _own_namespace(CLONE_NEWNET, "net")


def mount_namespaces() -> FeatureFinding:
    """A mount namespace of our own: VPNs that insist on the same /run paths need it."""
    return _own_namespace(CLONE_NEWNS, "mnt")


def _own_namespace(flags: int, kind: str) -> FeatureFinding:
    here = Path(f"/proc/thread-self/ns/{kind}").stat().st_ino

    def inside() -> int:
        return Path(f"/proc/thread-self/ns/{kind}").stat().st_ino

    try:
        there = in_scratch(inside, flags)
    except UnshareRefusedError as error:
        if error.errno == errno.EPERM:
            raise
        # here the refusal is the finding: most kernels without the feature say EINVAL
        raise OSError(error.errno, error.strerror) from error
    return present("one was made and left") if there != here else missing("none was made")
