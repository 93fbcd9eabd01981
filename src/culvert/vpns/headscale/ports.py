"""Ports of the servers and of the members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from culvert.vpns.parts import ports


@dataclass(frozen=True)
class Ports(ports.Ports):
    """The usual ones."""

    member: int = 41641
    """UDP: WireGuard's packets, and discovery."""
    control: int = 8080
    metrics: int = 9090
    """Of Headscale, at the loopback address, as ``remote``, its gRPC."""
    remote: int = 50443
    relay: int = 8443
    """TCP: DERP in TLS, or plain."""
    stun: int = 3478

    @classmethod
    def usual(cls, *, plain: bool) -> Self:
        """Those of Tailscale's programs; ``plain``: DERP without TLS."""
        return cls(relay=3340) if plain else cls()
