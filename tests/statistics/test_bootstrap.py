"""The short cuts give what SciPy's bootstrap gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from culvert.statistics.bootstrap import Ends, mean_ends, median_ends, middle

_MANY = 20_000


@pytest.mark.parametrize("n", [6, 9, 20, 41])
@pytest.mark.parametrize(
    ("statistic", "ends"), [(np.median, median_ends), (np.mean, mean_ends)], ids=["median", "mean"]
)
def test_ends_are_scipys(
    n: int, statistic: Callable[..., float], ends: Callable[..., Ends]
) -> None:
    samples = np.sort(np.random.default_rng(n).lognormal(0, 0.5, (3, n)), axis=1)
    low, high = stats.bootstrap(
        (samples,),
        statistic,
        axis=-1,
        n_resamples=_MANY,
        batch=1000,
        vectorized=True,
        method="BCa",
        rng=np.random.default_rng(1),
    ).confidence_interval
    found = ends(samples, level=0.95, resamples=_MANY, seed=2)
    # What two bootstraps of this size differ by, in widths of the interval.
    slack = 0.06 * (high - low)
    assert (np.abs(found.low - low) <= slack).all()
    assert (np.abs(found.high - high) <= slack).all()
    assert not found.percentile.any()


@pytest.mark.parametrize("n", [5, 6, 25])
def test_middles_of_resamples_come_as_often_as_in_a_plain_bootstrap(n: int) -> None:
    lower, upper = middle(n, 40_000, seed=3)
    drawn = np.sort(np.random.default_rng(4).integers(0, n, (40_000, n)), axis=1)
    for fast, plain in ((lower, drawn[:, (n - 1) // 2]), (upper, drawn[:, n // 2])):
        apart = np.bincount(fast, minlength=n) - np.bincount(plain, minlength=n)
        assert np.abs(apart).max() <= 5 * np.sqrt(2 * 40_000 * 0.25)
    assert (lower <= upper).all()
