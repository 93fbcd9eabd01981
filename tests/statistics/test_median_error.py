from __future__ import annotations

import numpy as np
import pytest

from culvert.statistics.ratio import middle


@pytest.mark.parametrize("n", [5, 6, 25])
def test_middles_of_resamples_come_as_often_as_in_a_plain_bootstrap(n: int) -> None:
    lower, upper = middle(n, 40_000, seed=3)
    drawn = np.sort(np.random.default_rng(4).integers(0, n, (40_000, n)), axis=1)
    for fast, plain in ((lower, drawn[:, (n - 1) // 2]), (upper, drawn[:, n // 2])):
        apart = np.bincount(fast, minlength=n) - np.bincount(plain, minlength=n)
        assert np.abs(apart).max() <= 5 * np.sqrt(2 * 40_000 * 0.25)
    assert (lower <= upper).all()
