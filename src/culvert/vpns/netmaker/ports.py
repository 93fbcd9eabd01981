"""Ports of the server and of the members."""

from __future__ import annotations

from dataclasses import dataclass

from culvert.vpns.parts import ports


@dataclass(frozen=True)
class Ports(ports.Ports):
    """The usual ones."""

    member: int = 51821
    """UDP: WireGuard's packets."""
    api: int = 8081
    """TCP: the server's, without TLS."""
    broker: int = 1883
    tls: int = 443
