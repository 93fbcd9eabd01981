"""Places in an order, as far as the data knows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Rank:
    """The places from 1 that a name can have; one place where ``best`` is ``worst``."""

    best: int
    worst: int


def ranks_of(names: Sequence[str], ahead: Iterable[tuple[str, str]]) -> dict[str, Rank]:
    """For each name the places that it can have. ``ahead`` are the pairs told apart, better first.

    A place is lost only to those that are told apart (Mogstad, Romano, Shaikh and Wilhelm, Review
    of Economic Studies 91, 2024): where the pairs keep their family's error rate, all ranks hold
    together as often.
    """
    better = dict.fromkeys(names, 0)
    worse = dict.fromkeys(names, 0)
    for first, second in ahead:
        better[second] += 1
        worse[first] += 1
    return {name: Rank(1 + better[name], len(names) - worse[name]) for name in names}
