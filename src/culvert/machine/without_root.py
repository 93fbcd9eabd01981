"""Limits of a run without root: real-time priority and large receive buffers."""

from __future__ import annotations

import resource
import socket
from typing import Any

from culvert.privilege import Privilege, is_root, privilege

WANTED_BUFFER_BYTES = 16 << 20
"""The receive buffer of the probe's sink of packets."""
REAL_TIME = (
    'echo "$USER - rtprio 1" | sudo tee /etc/security/limits.d/culvert.conf, then log in again'
)
BUFFERS = f"sudo sysctl -w net.core.rmem_max={WANTED_BUFFER_BYTES}"


def described() -> dict[str, Any]:
    """The journal's environment of a run without root; empty for root's."""
    if privilege() is not Privilege.OWN_NAMESPACES:
        return {}
    return {
        "without_root": {
            "real_time_priority": may_have_real_time(),
            "receive_buffer_bytes": largest_receive_buffer(WANTED_BUFFER_BYTES),
        }
    }


def notes() -> list[str]:
    """The limitations of a run without root here, in words with the remedy; none for root's."""
    if privilege() is not Privilege.OWN_NAMESPACES:
        return []
    found = []
    if not may_have_real_time():
        found.append(
            "without root: the link wire runs without real-time priority, its delays are less "
            f"exact on a busy machine (remedy: {REAL_TIME})"
        )
    largest = largest_receive_buffer(WANTED_BUFFER_BYTES)
    if largest < WANTED_BUFFER_BYTES:
        found.append(
            f"without root: receive buffers hold {largest} bytes instead of {WANTED_BUFFER_BYTES}, "
            f"floods of UDP may be lost at the receiver (remedy: {BUFFERS})"
        )
    return found


def may_have_real_time() -> bool:
    """Whether our threads may have the lowest real-time priority (sched(7))."""
    return is_root() or resource.getrlimit(resource.RLIMIT_RTPRIO)[0] != 0


def largest_receive_buffer(wanted_bytes: int) -> int:
    """Receive buffer that a socket gets if it requests ``wanted_bytes`` (socket(7), SO_RCVBUF)."""
    so_rcvbufforce = 33
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as tried:
        try:
            tried.setsockopt(socket.SOL_SOCKET, so_rcvbufforce, wanted_bytes)
        except OSError:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, wanted_bytes)
        # The kernel reports twice the requested size, because of its own bookkeeping.
        return min(wanted_bytes, tried.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2)
