"""Trials during which a host was lost. The journal keeps each of them, with a key that leaves the
cell's place in its block free: a resumed run measures the cell there again. Pure."""

from __future__ import annotations

from collections.abc import Collection

_LOST = "/lost-"

Place = tuple[int, str]
"""Block and key of a trial in the journal."""


def key_of_lost(block: int, cell_key: str, done: Collection[Place]) -> str:
    """The key of a cell's next trial in a block during which a host was lost."""
    attempt = 1
    while (block, f"{cell_key}{_LOST}{attempt}") in done:
        attempt += 1
    return f"{cell_key}{_LOST}{attempt}"


def to_repeat(done: Collection[Place]) -> frozenset[Place]:
    """Places of cells whose trials lost a host, without those that were measured since."""
    lost = {(block, key.partition(_LOST)[0]) for block, key in done if _LOST in key}
    return frozenset(lost - set(done))
