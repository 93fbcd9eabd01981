"""Capabilities of programs on nodes, by their numbers in linux/capability.h."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class Capability(IntEnum):
    """Those that daemons of VPNs need (capabilities(7))."""

    CHOWN = 0
    DAC_OVERRIDE = 1
    KILL = 5
    SETGID = 6
    SETUID = 7
    NET_BIND_SERVICE = 10
    NET_ADMIN = 12
    NET_RAW = 13
    IPC_LOCK = 14
    SYS_MODULE = 16
    SYS_CHROOT = 18
    SYS_ADMIN = 21
    BPF = 39


TUNNEL = frozenset({Capability.NET_ADMIN, Capability.NET_RAW, Capability.NET_BIND_SERVICE})
"""For a program with a tun device, routes and a socket of its own."""


def limit_to(capabilities: Iterable[Capability]) -> str:
    """The option of ``culvert-probe exec`` that leaves a program these only."""
    return f"--capabilities={','.join(str(int(one)) for one in sorted(capabilities))}"
