"""The only variant of ``netmaker``, with what a reader of results should know of it."""

from __future__ import annotations

from culvert.topology.graph import Role
from culvert.vpns.netmaker.ports import Ports
from culvert.vpns.variant import DataCipher, Variant

MTU = 1420
"""netclient's default."""
VARIANTS = (
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
