"""The variants of ``netbird``, with what a reader of results should know of them."""

from __future__ import annotations

from culvert.topology.graph import Role
from culvert.vpns.netbird.ports import Ports
from culvert.vpns.variant import DataCipher, Variant, kept_relayed

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


VARIANTS = (
    _variant("direct", "a path found by ICE", transport=f"UDP {Ports.member}"),
    _variant(
        "relay",
        "through NetBird's relay",
        transport=f"WebSocket over TCP {Ports.relay}",
        relayed_by="NB_FORCE_RELAY in each daemon's environment",
    ),
)
