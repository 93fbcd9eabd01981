"""Intervals of medians from order statistics: exact where the distribution is continuous.

The d-th smallest and the d-th greatest of n values enclose the median with the probability
1 - 2 P(B < d), B binomial with n and 1/2, whatever the distribution is. Between two depths the
interval is interpolated (Hettmansperger and Sheather, "Confidence intervals based on interpolated
order statistics", Statistics and Probability Letters 4, 1986).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float64]


def widest(n: int) -> float:
    """How often the whole range of n values encloses the median: 1 - 2 * 0.5**n."""
    return float(1 - 2 * 0.5**n)


def median_ends(samples: Samples, level: float) -> tuple[Samples, Samples]:
    """Lower and upper ends for the rows of ``samples`` (k, n), each sorted; n at least 2.

    Where even the range of the sample does not reach ``level``, the ends are the range.
    """
    depth, part = _depth(samples.shape[1], level)
    outer, inner = samples[:, depth - 1], samples[:, depth]
    low = (1 - part) * outer + part * inner
    outer, inner = samples[:, -depth], samples[:, -depth - 1]
    high = (1 - part) * outer + part * inner
    # Interpolation between equal values may round past them.
    return np.maximum(low, samples[:, 0]), np.minimum(high, samples[:, -1])


@cache
def _depth(n: int, level: float) -> tuple[int, float]:
    """The depth, from 1, of the interval just wide enough, and how far to go to the next one."""
    from scipy.special import bdtr  # noqa: PLC0415 - slow to import, seldom needed

    def covers(depth: int) -> float:
        return 1 - 2 * float(bdtr(depth - 1, n, 0.5))

    depth = 1
    if covers(1) <= level:
        return 1, 0.0
    while 2 * (depth + 1) <= n and covers(depth + 1) >= level:
        depth += 1
    if 2 * depth >= n:
        return depth, 0.0
    share = (covers(depth) - level) / (covers(depth) - covers(depth + 1))
    return depth, (n - depth) * share / (depth + (n - 2 * depth) * share)
