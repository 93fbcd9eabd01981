"""The privileges of this process, and the namespaces that it can create."""

from __future__ import annotations

import errno
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from culvert import tools
from culvert.errors import NotPossible
from culvert.machine import rootless, without_root
from culvert.machine.check import FeatureFinding, degraded, missing, present, unknown
from culvert.machine.scratch import CLONE_NEWNET, CLONE_NEWNS, UnshareRefusedError, in_scratch
from culvert.machine.tree import Tree
from culvert.privilege import Privilege, privilege, run_as_root

DEADLINE_S = 10.0
GIVE_ROOT = run_as_root()
GIVE_NAMESPACES = f"{GIVE_ROOT}; or see user-namespaces"
NEEDED: Mapping[str, int] = {
    "CAP_KILL": 5,
    "CAP_NET_ADMIN": 12,
    "CAP_NET_RAW": 13,
    "CAP_SYS_PTRACE": 19,
    "CAP_SYS_ADMIN": 21,
}
"""Capabilities (linux/capability.h) to create namespaces and interfaces, to capture, and to inspect
and end processes in them."""


def root() -> FeatureFinding:
    """Most features need root: the machine's, or that of a user namespace."""
    match privilege():
        case Privilege.ROOT:
            return present("running as root")
        case Privilege.OWN_NAMESPACES:
            return present(
                "not needed: an ordinary user, as root of their own namespaces; packages, kernel "
                "modules and interrupts need the machine's root"
            )
        case Privilege.NONE:
            return missing(f"running as user id {os.geteuid()}: labs cannot be created")


def user_namespaces() -> FeatureFinding:
    """The alternative: an ordinary user runs labs in their own namespaces."""
    if privilege() is Privilege.OWN_NAMESPACES:
        return present("labs run in a user namespace, and so does this process")
    try:
        refusal = rootless.refusal()
    except NotPossible as error:
        return unknown(f"cannot be tried: {error}", error.remedy)
    if refusal is not None:
        return missing(f"labs need root here: {refusal.why}", refusal.remedy)
    return present("an ordinary user can create labs without root")


def real_time() -> FeatureFinding:
    """The wire's threads preempt others when a packet is due."""
    if without_root.may_have_real_time():
        return present("threads may have real-time priority")
    return degraded("no real-time priority: delays are less exact on a busy machine")


def receive_buffers() -> FeatureFinding:
    """Root's sockets may go beyond net.core.rmem_max."""
    wanted = without_root.WANTED_BUFFER_BYTES
    largest = without_root.largest_receive_buffer(wanted)
    if largest < wanted:
        return degraded(f"{largest} bytes of {wanted}: floods of UDP may be lost at the receiver")
    return present(f"{wanted} bytes")


def capabilities() -> FeatureFinding:
    """In a container root may have fewer capabilities."""
    mask = parse_effective(Tree().text("/proc/self/status") or "")
    if mask is None:
        return unknown("/proc/self/status has no capabilities")
    lacking = [name for name, bit in NEEDED.items() if not mask >> bit & 1]
    if lacking:
        remedy = None if os.geteuid() == 0 else GIVE_ROOT
        return missing(f"without {', '.join(lacking)}", remedy)
    return present(", ".join(NEEDED))


def parse_effective(status: str) -> int | None:
    """The mask of effective capabilities in /proc/PID/status; None if it is not there."""
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return int(found[1], 16) if found else None


def network_namespaces() -> FeatureFinding:
    """A new network namespace, which is checked to be another one."""
    return _own_namespace(CLONE_NEWNET, "net")


def mount_namespaces() -> FeatureFinding:
    """A new mount namespace: VPNs with fixed paths in /run need it."""
    return _own_namespace(CLONE_NEWNS, "mnt")


def read_only_machine() -> FeatureFinding:
    """Programs of nodes see the machine's files read-only."""
    probe = tools.find("culvert-probe")
    if probe is None:
        return unknown("culvert-probe is missing", "make setup")
    done = subprocess.run(
        [str(probe), "exec", "--apart", "--", "/bin/true"],
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )
    if done.returncode == 0:
        return present("for programs of nodes")
    return missing(f"VPNs can change files of the machine: {done.stderr.strip()}")


def _own_namespace(flags: int, kind: str) -> FeatureFinding:
    here = Path(f"/proc/thread-self/ns/{kind}").stat().st_ino

    def inside() -> int:
        return Path(f"/proc/thread-self/ns/{kind}").stat().st_ino

    try:
        there = in_scratch(inside, flags)
    except UnshareRefusedError as error:
        if error.errno == errno.EPERM:
            raise
        # here the refusal is the finding: most kernels without the feature return EINVAL
        raise OSError(error.errno, error.strerror) from error
    return present("created") if there != here else missing("the kernel created none")
