"""The variants of ``zerotier``, with what a reader of results should know of them."""

from __future__ import annotations

from culvert.vpns.authoring import DataCipher, Role, Variant, kept_relayed
from culvert.vpns.zerotier.world import PORT

TCP_RELAY = "tcp-relay"
TCP_PORT = 443
_FACTS = {
    "cipher": "AES-256-GMAC-SIV",
    "key exchange": "static Curve25519 keys of the identities; no forward secrecy",
}


def _variant(name: str, summary: str, transport: str, relayed_by: str = "") -> Variant:
    kept = kept_relayed(relayed_by) if relayed_by else {}
    facts = {**_FACTS, "transport": transport, **kept}
    needs = (Role.RELAY, Role.CONTROL)
    return Variant(name, summary, facts, cipher=DataCipher.AES, needs=needs)


VARIANTS: tuple[Variant, ...] = (
    _variant("direct", "a path that the root mediated", transport=f"UDP {PORT}"),
    _variant(
        "relay",
        "through the root",
        transport=f"UDP {PORT}",
        relayed_by="each member's local.conf, whose blacklist has all paths to the other members",
    ),
    _variant(
        TCP_RELAY,
        "through the root, over TCP",
        transport=f"TCP {TCP_PORT}",
        relayed_by="forceTcpRelay in each member's local.conf",
    ),
)
