"""The marks of a session: what its payloads repeat, and captures search for."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

CANARY_BYTES = 32
MASK, BITS = 0xF0, 0xA0
"""Bits that all bytes of a canary have in common: any four successive bytes are then known by one
comparison, wherever they begin. Four random bits are left in each byte."""
SHARED_BITS: Mapping[str, int] = {"mask": MASK, "bits": BITS}
"""The same in a request to the wire."""


def new_canary() -> bytes:
    """A random pattern that no other traffic carries."""
    return bytes(BITS | byte & ~MASK & 0xFF for byte in secrets.token_bytes(CANARY_BYTES))
