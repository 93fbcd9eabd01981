"""Places in an order, as far as the data knows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from culvert.statistics.holm import holm
from culvert.statistics.median_error import median_error, welch
from culvert.statistics.values import Values, array

ALPHA = 0.05
FEWEST = 5


@dataclass(frozen=True)
class Rank:
    """The places from 1 that a name can have; one place where ``best`` is ``worst``."""

    best: int
    worst: int


def rank_intervals(
    series: Mapping[str, Values], seed: int, *, more_is_better: bool
) -> dict[str, Rank]:
    """For each name an interval of its rank by the median; all hold together in 95 of 100 cases.

    A place is lost only to those that are told apart (Mogstad, Romano, Shaikh and Wilhelm, Review
    of Economic Studies 91, 2024): Welch's t of the medians with the bootstrap's standard errors,
    corrected by Holm over all pairs. A name with fewer than 5 values is told from nobody.
    """
    from scipy import stats  # noqa: PLC0415 - slow to import, seldom needed

    samples = {name: array(values) for name, values in series.items()}
    known = [name for name, sample in samples.items() if sample.size >= FEWEST]
    middles = {name: float(np.median(samples[name])) for name in known}
    errors = {name: median_error(samples[name], seed) for name in known}
    pairs = list(combinations(known, 2))
    p_values = []
    for one, other in pairs:
        apart = abs(middles[one] - middles[other])
        error, freedom = welch(*errors[one], *errors[other])
        if error == 0:
            p_values.append(float(apart == 0))
            continue
        p_values.append(float(2 * stats.t.sf(apart / error, freedom)))
    better = dict.fromkeys(series, 0)
    worse = dict.fromkeys(series, 0)
    for (one, other), p_value in zip(pairs, holm(p_values), strict=True):
        if p_value < ALPHA:
            ahead = (middles[one] > middles[other]) == more_is_better
            first, second = (one, other) if ahead else (other, one)
            better[second] += 1
            worse[first] += 1
    return {name: Rank(1 + better[name], len(series) - worse[name]) for name in series}
