"""The only variant of ``netmaker``, with what a reader of results should know of it; its ports."""

from __future__ import annotations

from dataclasses import dataclass

from culvert.vpns import authoring
from culvert.vpns.authoring import DataCipher, Role, Variant


@dataclass(frozen=True)
class Ports(authoring.Ports):
    """Of the server and the members: the usual ones."""

    member: int = 51821
    """UDP: WireGuard's packets."""
    api: int = 8081
    """TCP: the server's, without TLS."""
    broker: int = 1883
    tls: int = 443


MTU = 1420
"""netclient's default."""
VARIANTS: tuple[Variant, ...] = (
    Variant(
        "netmaker",
        "direct; the free edition has no relay that starts by itself",
        {
            "cipher": "ChaCha20-Poly1305",
            "key exchange": "Noise IKpsk2, Curve25519, BLAKE2s",
            "transport": f"UDP {Ports.member}",
            "MTU": str(MTU),
            "run with": "1.4.0, built from its sources, in namespaces; never with its packages",
        },
        cipher=DataCipher.CHACHA20,
        needs=(Role.CONTROL,),
    ),
)
