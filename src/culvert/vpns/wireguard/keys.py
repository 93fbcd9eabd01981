"""The key pairs of all nodes, and the configuration of one node as a peer of another."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from culvert.topology.ip import Subnet
from culvert.vpns.wireguard.uapi import Pair

_SHARED_BYTES = 32


@dataclass(frozen=True)
class Keys:
    """Key pairs by node name; ``shared`` is the pre-shared key, in hexadecimal."""

    pairs: dict[str, X25519PrivateKey] = field(repr=False)
    shared: str | None = field(default=None, repr=False)

    @classmethod
    def new(cls, names: Iterable[str], *, shared: bool) -> Keys:
        """Random key pairs for nodes of these names."""
        return cls(
            {name: X25519PrivateKey.generate() for name in names},
            secrets.token_hex(_SHARED_BYTES) if shared else None,
        )

    def text(self, name: str) -> str:
        """The private key in the format of a user's file."""
        return base64.b64encode(self.pairs[name].private_bytes_raw()).decode() + "\n"

    def private(self, name: str) -> Pair:
        """The pair that configures the node itself."""
        return "private_key", self.pairs[name].private_bytes_raw().hex()

    def public(self, name: str) -> Pair:
        """The pair that identifies the node to others."""
        return "public_key", self.pairs[name].public_key().public_bytes_raw().hex()

    def name(self, public_key: str) -> str | None:
        """The node of a public key in hexadecimal; None if it is not one of these."""
        return next((name for name in self.pairs if self.public(name)[1] == public_key), None)

    def peer(self, name: str, inner: Iterable[Subnet]) -> list[Pair]:
        """The pairs for another node: this node's identity, and the networks that it carries
        packets for."""
        return [
            self.public(name),
            *([("preshared_key", self.shared)] if self.shared else []),
            ("replace_allowed_ips", "true"),
            *(("allowed_ip", str(each)) for each in inner),
        ]
