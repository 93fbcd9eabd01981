"""The Mann-Whitney U test, as the papers use it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from culvert.statistics.values import Values, array


@dataclass(frozen=True)
class MannWhitney:
    """``u`` counts the pairs with a > b, ties half; ``p_value`` is two-sided."""

    u: float
    p_value: float
    cliffs_delta: float


def mann_whitney(a: Values, b: Values) -> MannWhitney:
    """Whether one series tends to larger values (Mann and Whitney, Ann. Math. Stat. 18, 1947).

    SciPy's: exact where a series has at most 8 values and there are no ties, else the normal
    approximation with correction for ties and continuity. The trials must be independent; see
    ``serial``. Raises ValueError if a series is empty.
    """
    from scipy import stats  # noqa: PLC0415 - slow to import, seldom needed

    x, y = array(a), array(b)
    if not x.size or not y.size:
        raise ValueError("a test needs two series")
    found = stats.mannwhitneyu(x, y, alternative="two-sided")
    u = float(found.statistic)
    return MannWhitney(u, float(found.pvalue), 2 * u / (x.size * y.size) - 1)


def least_mann_whitney(m: int, n: int) -> float:
    """The smallest two-sided p value that m and n values can give: 2 m! n! / (m + n)!."""
    return min(1.0, 2 / math.comb(m + n, n))
