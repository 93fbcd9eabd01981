"""The variants of ``headscale``, with what a reader of results should know of them; its ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from culvert.vpns import authoring
from culvert.vpns.authoring import DataCipher, Role, Variant, kept_relayed
from culvert.vpns.parts import kill_switch


@dataclass(frozen=True)
class Ports(authoring.Ports):
    """Of the servers and the members: the usual ones."""

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


MTU = 1280
"""Of the device, by default."""
RELAYED = "relay"
PLAIN = "plain"
OPTIONS = {
    PLAIN: "DERP over HTTP without TLS; WireGuard's packets in it stay encrypted",
    kill_switch.OPTION: kill_switch.HELP,
}
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


VARIANTS: tuple[Variant, ...] = (
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
