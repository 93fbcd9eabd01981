"""The variants of ``headscale``, with what a reader of results should know of them."""

from __future__ import annotations

from collections.abc import Mapping

from culvert.topology.graph import Role
from culvert.vpns.headscale.members import MTU
from culvert.vpns.headscale.ports import Ports
from culvert.vpns.variant import DataCipher, Variant, kept_relayed

RELAYED = "relay"
PLAIN = "plain"
OPTIONS = {PLAIN: "DERP over HTTP without TLS; WireGuard's packets in it are encrypted as ever"}
_FACTS = {
    "cipher": "ChaCha20-Poly1305",
    "key exchange": "Noise IKpsk2, Curve25519, BLAKE2s",
    "initiation": "a start of tailscaled on a registered member",
    "netfilter": "off: members have no rules of Tailscale's",
    "port mapping": "not requested: TS_DISABLE_PORTMAPPER",
    "MTU": str(MTU),
}


def _variant(name: str, summary: str, facts: Mapping[str, str]) -> Variant:
    return Variant(
        name,
        summary,
        {**_FACTS, **facts},
        cipher=DataCipher.CHACHA20,
        needs=(Role.CONTROL, Role.RELAY),
    )


VARIANTS = (
    _variant("direct", "packets go from member to member", {"transport": f"UDP {Ports.member}"}),
    _variant(
        RELAYED,
        "packets go through a DERP relay",
        {
            "transport": "DERP over TCP, in TLS with a pinned certificate",
            **kept_relayed("TS_DEBUG_ALWAYS_USE_DERP on every member"),
        },
    ),
)
