"""The Mann-Whitney U test, as the papers use it (Ann. Math. Stat. 18, 1947)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from culvert.statistics.values import Array

EXACT = 8
"""If a series has at most so many values and there are no ties, the test is exact."""


@dataclass(frozen=True)
class MannWhitney:
    """``u`` counts the pairs with a > b, ties half; ``p_value`` is two-sided."""

    u: float
    p_value: float


def mann_whitney(pairs: Sequence[tuple[Array, Array]]) -> list[MannWhitney]:
    """Test for each pair of series whether one tends to larger values.

    Exact where a series has at most 8 values and there are no ties, else the normal approximation
    with correction for ties and continuity. SciPy tests series of equal lengths together, a hundred
    times faster than one by one. The trials must be independent; see ``serial``. No series is
    empty.
    """
    from scipy.stats import mannwhitneyu  # noqa: PLC0415 - slow to import, seldom needed

    together: dict[tuple[int, int, str], list[int]] = defaultdict(list)
    for place, (a, b) in enumerate(pairs):
        distinct = np.unique(np.concatenate([a, b])).size == a.size + b.size
        exact = distinct and min(a.size, b.size) <= EXACT
        together[a.size, b.size, "exact" if exact else "asymptotic"].append(place)
    found: dict[int, MannWhitney] = {}
    for (_, _, method), places in together.items():
        a, b = (np.stack([pairs[place][side] for place in places]) for side in (0, 1))
        test = mannwhitneyu(a, b, axis=1, method=method)
        for place, u, p_value in zip(places, test.statistic, test.pvalue, strict=True):
            found[place] = MannWhitney(float(u), float(p_value))
    return [found[place] for place in range(len(pairs))]


def least_mann_whitney(m: int, n: int) -> float:
    """The smallest two-sided p value that m and n values can give: 2 m! n! / (m + n)!."""
    return min(1.0, 2 / math.comb(m + n, n))
