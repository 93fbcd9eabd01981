"""Ranks, as far as the data decide them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True)
class Rank:
    """The range of ranks of a name, from 1; one rank if ``best`` is ``worst``."""

    best: int
    worst: int


def ranks_of(names: Sequence[str], ahead: Iterable[tuple[str, str]]) -> dict[str, Rank]:
    """The range of ranks of each name. ``ahead``: significantly different pairs, better first.

    A rank is lost only to significantly better names (Mogstad, Romano, Shaikh and Wilhelm, Review
    of Economic Studies 91, 2024): where the pairs keep their family's error rate, all ranks hold
    together as often.
    """
    better = dict.fromkeys(names, 0)
    worse = dict.fromkeys(names, 0)
    for first, second in ahead:
        better[second] += 1
        worse[first] += 1
    return {name: Rank(1 + better[name], len(names) - worse[name]) for name in names}


class Lead(StrEnum):
    """What a name of rank 1 is called, if not all are of rank 1."""

    BEST = "best"
    MAYBE = "may be best"
    """Nothing is shown to be better, and not everything to be worse."""


def leads(ranks: Mapping[str, Rank]) -> dict[str, Lead]:
    """The names that nothing is ahead of; none if nothing is behind anything either."""
    if all(rank.best == 1 for rank in ranks.values()):
        return {}
    return {
        name: Lead.BEST if rank.worst == 1 else Lead.MAYBE
        for name, rank in ranks.items()
        if rank.best == 1
    }
