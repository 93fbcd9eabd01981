"""The variants of ``zerotier``, with what a reader of results should know of them."""

from __future__ import annotations

from culvert.topology.graph import Role
from culvert.vpns.variant import DataCipher, Variant
from culvert.vpns.zerotier.world import PORT

TCP_RELAY = "tcp-relay"
TCP_PORT = 443
_FACTS = {
    "cipher": "AES-256-GMAC-SIV",
    "key exchange": "static Curve25519 keys of the identities; no forward secrecy",
}


def _variant(name: str, summary: str, **facts: str) -> Variant:
    needs = (Role.RELAY, Role.CONTROL)
    return Variant(name, summary, {**_FACTS, **facts}, cipher=DataCipher.AES, needs=needs)


VARIANTS = (
    _variant("direct", "a path that the root mediated", transport=f"UDP {PORT}"),
    _variant(
        "relay",
        "through the root",
        transport=f"UDP {PORT}",
        relayed="by local.conf: each member's blacklist has all paths to the other members",
    ),
    _variant(
        TCP_RELAY,
        "through the root, over TCP",
        transport=f"TCP {TCP_PORT}",
        relayed="by forceTcpRelay in each member's local.conf",
    ),
)
