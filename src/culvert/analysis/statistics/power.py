"""How many more repetitions would decide."""

from __future__ import annotations

import math

from culvert.analysis.statistics.median_error import welch
from culvert.analysis.statistics.serial import effective_sample_size
from culvert.analysis.statistics.values import Array, Values, array, spread

MOST = 100_000
"""Where more would be needed, nobody will measure them."""


def repetitions_needed(
    values_a: Values,
    values_b: Values,
    *,
    bound: float = 0.0,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int | None:
    """How many more trials of each would show, with this power, that a - b is not ``bound``.

    Two-sided, by Welch's t on the means, if means and spreads are what they are now and the
    correlation goes on (Chow, Shao and Wang, "Sample Size Calculations in Clinical Research", 2008,
    section 3.2). For a ratio give logarithms: the bound of 5 % more is log(1.05). 0 if it is
    decided already; None with fewer than 2 values, or where it takes more than 100,000.
    """
    from scipy import stats  # noqa: PLC0415 - slow to import, seldom needed

    a, b = array(values_a), array(values_b)
    if min(a.size, b.size) < 2:
        return None
    apart = abs(float(a.mean() - b.mean()) - bound)

    def decided(n_a: int, n_b: int, share: float) -> bool:
        error, freedom = welch(*_error(a, n_a), *_error(b, n_b))
        if error == 0:
            return apart > 0
        need = stats.t.ppf(1 - alpha / 2, freedom) + (stats.t.ppf(share, freedom) if share else 0)
        return bool(apart >= need * error)

    if decided(a.size, b.size, 0.0):
        return 0
    if not decided(a.size + MOST, b.size + MOST, power):
        return None
    low, high = 0, MOST
    while high - low > 1:
        middle = (low + high) // 2
        if decided(a.size + middle, b.size + middle, power):
            high = middle
        else:
            low = middle
    return high


def _error(sample: Array, n: int) -> tuple[float, float]:
    """The standard error of the mean of n such values, and its degrees of freedom."""
    worth = max(2.0, effective_sample_size(sample) / sample.size * n)
    return spread(sample) / math.sqrt(worth), worth - 1
