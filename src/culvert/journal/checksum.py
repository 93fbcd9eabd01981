"""Checksums over rows, the same when written and when read again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

Row = tuple[Any, ...]


def checksum(row: Row, children: Sequence[list[Row]] = ()) -> str:
    """BLAKE2b, 128 bits, over a row and the rows that belong to it, table by table.

    Values are None, int, float, str and bytes.
    """
    # repr keeps types, every bit of a float, rows and tables apart. It is also the fastest way:
    # a long run has millions of rows, and all are checked when a journal is opened.
    content = repr((row, *children)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=16).hexdigest()
