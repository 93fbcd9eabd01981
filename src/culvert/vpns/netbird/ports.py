"""Ports of the servers and of the members."""

from __future__ import annotations

from dataclasses import dataclass

from culvert.vpns.parts import ports

LEGACY = 33073
"""TCP: the control server listens there too, for old members; no setting changes it."""


@dataclass(frozen=True)
class Ports(ports.Ports):
    """The usual ones."""

    member: int = 51820
    """UDP: WireGuard's packets, and ICE."""
    control: int = 8080
    """TCP: management and signal."""
    relay: int = 33080
    stun: int = 3478
    metrics: int = 9090
    """Of both servers, as ``health``, which is at the loopback address."""
    health: int = 9000
