"""The key pairs of all nodes, and what configures one as the peer of another."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Address

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from culvert.vpns.wireguard.uapi import Pair

_SHARED_BYTES = 32


@dataclass(frozen=True)
class Keys:
    """By the names of nodes; ``shared`` is the pre-shared key, in hexadecimal."""

    pairs: dict[str, X25519PrivateKey] = field(repr=False)
    shared: str | None = field(default=None, repr=False)

    @classmethod
    def new(cls, names: Iterable[str], *, shared: bool) -> Keys:
        """Random ones for nodes of these names."""
        return cls(
            {name: X25519PrivateKey.generate() for name in names},
            secrets.token_hex(_SHARED_BYTES) if shared else None,
        )

    def text(self, name: str) -> str:
        """The private key as a user's file holds it."""
        return base64.b64encode(self.pairs[name].private_bytes_raw()).decode() + "\n"

    def private(self, name: str) -> Pair:
        """For the node itself."""
        return "private_key", self.pairs[name].private_bytes_raw().hex()

    def public(self, name: str) -> Pair:
        """What others know the node by."""
        return "public_key", self.pairs[name].public_key().public_bytes_raw().hex()

    def peer(self, name: str, inner: IPv4Address) -> list[Pair]:
        """For the other node: who this one is, and which address it has inside the tunnel."""
        return [
            self.public(name),
            *([("preshared_key", self.shared)] if self.shared else []),
            ("replace_allowed_ips", "true"),
            ("allowed_ip", f"{inner}/32"),
        ]
