"""Checksums over rows, equal when written and when read."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

Row = tuple[Any, ...]


def checksum(row: Row, children: Sequence[list[Row]] = ()) -> str:
    """BLAKE2b, 128 bits, over a row and its child rows, table by table.

    Values are None, int, float, str and bytes.
    """
    # repr preserves types, every bit of a float, and the limits of rows and tables. It is also the
    # fastest way: a long run has millions of rows, and all are checked when a journal is opened.
    content = repr((row, *children)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=16).hexdigest()
