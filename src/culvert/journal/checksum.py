"""Checksums over rows, the same when written and when read again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any


class Checksum:
    """BLAKE2b, 128 bits, over rows of None, int, float, str and bytes in their order."""

    def __init__(self, row: Iterable[Any]) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self.add(row)

    def add(self, row: Iterable[Any]) -> None:
        """Take one more row in."""
        # repr keeps types and every bit of a float apart, and the tuple's parentheses the rows.
        self._hash.update(repr(tuple(row)).encode("utf-8", "surrogatepass"))

    def hex(self) -> str:
        """The checksum of all rows so far."""
        return self._hash.hexdigest()


def checksum(row: Iterable[Any]) -> str:
    """The checksum of one row."""
    return Checksum(row).hex()
