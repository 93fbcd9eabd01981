"""The variants of ``netbird``, with what a reader of results should know of them; its ports."""

from __future__ import annotations

from dataclasses import dataclass

from culvert.vpns import authoring
from culvert.vpns.authoring import DataCipher, Role, Variant, kept_relayed

LEGACY = 33073
"""TCP: the control server listens there too, for old members; no setting changes it."""


@dataclass(frozen=True)
class Ports(authoring.Ports):
    """Of the servers and the members: the usual ones."""

    member: int = 51820
    """UDP: WireGuard's packets, and ICE."""
    control: int = 8080
    """TCP: management and signal."""
    relay: int = 33080
    stun: int = 3478
    metrics: int = 9090
    """Of both servers, as ``health``, which is at the loopback address."""
    health: int = 9000


MTU = 1280
"""NetBird's default."""
_FACTS = {
    "cipher": "ChaCha20-Poly1305",
    "key exchange": "Noise IKpsk2, Curve25519, BLAKE2s",
    "MTU": str(MTU),
}
_NEEDS = (Role.RELAY, Role.CONTROL)


def _variant(name: str, summary: str, transport: str, relayed_by: str = "") -> Variant:
    kept = kept_relayed(relayed_by) if relayed_by else {}
    facts = {**_FACTS, "transport": transport, **kept}
    return Variant(name, summary, facts, cipher=DataCipher.CHACHA20, needs=_NEEDS)


VARIANTS: tuple[Variant, ...] = (
    _variant("direct", "a path found by ICE", transport=f"UDP {Ports.member}"),
    _variant(
        "relay",
        "through NetBird's relay",
        transport=f"WebSocket over TCP {Ports.relay}",
        relayed_by="NB_FORCE_RELAY in each daemon's environment",
    ),
)
