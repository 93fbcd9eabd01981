"""Trials that are measured once more in their block. The journal keeps each of them, with a key
that leaves the place of the cell in its block free. Pure.

A resumed run measures what is missing where a host was lost; what was measured on paths that did
not need the host is a trial of its own, a part. A link that was not as requested is verified again.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from itertools import count, takewhile

Place = tuple[int, str]
"""Block and key of a trial in the journal."""


class Unplaced(StrEnum):
    """Kinds of trials beside the one of a cell in its block; a value follows the cell's key."""

    LOST = "/lost-"
    PART = "/part-"
    REFUTED = "/refuted-"


def keys_of(kind: Unplaced, block: int, cell_key: str, done: Collection[Place]) -> list[str]:
    """The keys of a cell's trials of this kind in a block, in the order of measuring."""
    numbered = (f"{cell_key}{kind}{number}" for number in count(1))
    return list(takewhile(lambda key: (block, key) in done, numbered))


def next_key(kind: Unplaced, block: int, cell_key: str, done: Collection[Place]) -> str:
    """The key of a cell's next trial of this kind in a block."""
    return f"{cell_key}{kind}{len(keys_of(kind, block, cell_key, done)) + 1}"


def to_repeat(done: Collection[Place]) -> frozenset[Place]:
    """Places of cells whose trials lost a host, without those that were measured since."""
    lost = {
        (block, key.partition(kind)[0])
        for block, key in done
        for kind in (Unplaced.LOST, Unplaced.PART)
        if kind in key
    }
    return frozenset(lost - set(done))
