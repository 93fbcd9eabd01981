"""Quantiles beside SciPy's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from scipy.special import bdtr

from culvert.statistics.binomial import quantile


@given(st.integers(0, 2000), st.floats(0, 0.5), st.floats(0.01, 0.999))
def test_a_quantile_is_the_least_count_that_reaches_the_level(
    n: int, share: float, level: float
) -> None:
    count = quantile(n, share, level)
    assert bdtr(count, n, share) >= level - 1e-9
    assert count == 0 or bdtr(count - 1, n, share) < level + 1e-9


def test_no_case_and_certain_ones() -> None:
    assert quantile(0, 0.3, 0.95) == 0
    assert quantile(50, 0.0, 0.95) == 0
    assert quantile(10, 0.5, 1.0) == 10
