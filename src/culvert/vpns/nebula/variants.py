"""Nebula's variants and options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from culvert.errors import UsageError
from culvert.vpns.authoring import DataCipher, Role, Variant, kept_relayed
from culvert.vpns.nebula.settings import PORT

RELAY: Final = "relay"
FALLBACK: Final = "fallback"
CIPHERS: Mapping[DataCipher | None, str] = {
    DataCipher.AES: "aes",
    DataCipher.CHACHA20: "chachapoly",
}
"""The values of the setting ``cipher``, which is the same on all nodes."""

_FACTS = {"key exchange": "Noise IX, X25519, certificates by Ed25519", "transport": f"UDP {PORT}"}
_AES = {**_FACTS, "cipher": "AES-256-GCM"}
_CHACHA = {**_FACTS, "cipher": "ChaCha20-Poly1305"}
_ONLY_RELAYED = kept_relayed("lighthouse.remote_allow_list (only the servers' addresses)")
_AT_HAND = {"relay": "at hand, used while no direct path works (relay.relays)"}
_DIRECT, _RELAYED = (Role.CONTROL,), (Role.CONTROL, Role.RELAY)

VARIANTS: tuple[Variant, ...] = (
    Variant("aes", "direct, AES-GCM", _AES, DataCipher.AES, needs=_DIRECT),
    Variant("chacha", "direct, ChaCha20-Poly1305", _CHACHA, DataCipher.CHACHA20, needs=_DIRECT),
    Variant(
        RELAY, "by a relay, AES-GCM", {**_AES, **_ONLY_RELAYED}, DataCipher.AES, needs=_RELAYED
    ),
)
OPTIONS: Mapping[str, str] = {FALLBACK: "with a relay, used while the direct path fails"}


def chosen(variant: Variant, options: frozenset[str]) -> Variant:
    """The variant with options; raises UsageError if it cannot have them."""
    if FALLBACK not in options:
        return variant
    if variant.name == RELAY:
        raise UsageError(
            f"nebula/{RELAY}+{FALLBACK}", "never has a direct path", f"use nebula/aes+{FALLBACK}"
        )
    return replace(variant, facts={**variant.facts, **_AT_HAND}, needs=_RELAYED)
