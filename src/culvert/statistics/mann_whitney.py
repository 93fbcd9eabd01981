"""The Mann-Whitney U test, as the papers use it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from culvert.statistics.values import Array, Values, array

EXACT = 8
"""If a series has at most so many values and there are no ties, the test is exact."""


@dataclass(frozen=True)
class MannWhitney:
    """``u`` counts the pairs with a > b, ties half; ``p_value`` is two-sided."""

    u: float
    p_value: float
    cliffs_delta: float


def mann_whitney(a: Values, b: Values) -> MannWhitney:
    """Whether one series tends to larger values (Mann and Whitney, Ann. Math. Stat. 18, 1947).

    ``scipy.stats.mannwhitneyu``, fifty times faster: exact where a series has at most 8 values and
    there are no ties, else the normal approximation with correction for ties and continuity. The
    trials must be independent; see ``serial``. No series is empty.
    """
    x, y = array(a), np.sort(array(b))
    below, until = np.searchsorted(y, x, "left"), np.searchsorted(y, x, "right")
    u = float((below + until).sum()) / 2
    pairs = x.size * y.size
    _, equal = np.unique(np.concatenate([x, y]), return_counts=True)
    greater = max(u, pairs - u)
    if min(x.size, y.size) <= EXACT and equal.max() == 1:
        p_value = 2 * float(_exact(*sorted((x.size, y.size)))[int(greater)])
    else:
        p_value = 2 * _normal(greater, x.size, y.size, equal)
    return MannWhitney(u, min(1.0, p_value), 2 * u / pairs - 1)


def least_mann_whitney(m: int, n: int) -> float:
    """The smallest two-sided p value that m and n values can give: 2 m! n! / (m + n)!."""
    return min(1.0, 2 / math.comb(m + n, n))


def _normal(u: float, m: int, n: int, equal: NDArray[np.intp]) -> float:
    from scipy.special import ndtr  # noqa: PLC0415 - slow to import, seldom needed

    every = m + n
    ties = float((equal.astype(np.float64) ** 3 - equal).sum()) / (every * (every - 1))
    variance = m * n / 12 * (every + 1 - ties)
    return float(ndtr((m * n / 2 + 0.5 - u) / math.sqrt(variance))) if variance > 0 else 1.0


@lru_cache(256)
def _exact(m: int, n: int) -> Array:
    """P(U >= u) for u from 0 to m * n, without ties.

    The arrangements with U = u: the greatest value is in the first series and exceeds all n of the
    second, or it is in the second and exceeds none.
    """
    rows = [np.ones(1) for _ in range(n + 1)]
    for i in range(1, m + 1):
        shorter = rows
        rows = [np.ones(1)]
        for j in range(1, n + 1):
            found = np.zeros(i * j + 1)
            found[j:] += shorter[j]
            found[: i * (j - 1) + 1] += rows[j - 1]
            rows.append(found)
    ways = rows[n]
    return np.asarray(np.cumsum(ways[::-1])[::-1] / ways.sum())
