from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from culvert.statistics.mann_whitney import least_mann_whitney, mann_whitney

SERIES = st.lists(st.integers(-30, 30).map(float), min_size=1, max_size=14)


@settings(max_examples=150, deadline=None)
@given(SERIES, SERIES)
def test_scipys_u_and_p(a: list[float], b: list[float]) -> None:
    found = mann_whitney(a, b)
    expected = stats.mannwhitneyu(a, b, alternative="two-sided")
    assert found.u == expected.statistic
    assert found.p_value == pytest.approx(float(expected.pvalue), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 9), (5, 60), (8, 8), (8, 40), (9, 9), (20, 35)])
def test_scipys_p_without_ties(m: int, n: int) -> None:
    rng = np.random.default_rng(m * n)
    for shift in (0.0, 0.5, 2.0):
        a, b = rng.normal(shift, 1, m), rng.normal(0, 1, n)
        expected = stats.mannwhitneyu(a, b, alternative="two-sided")
        assert mann_whitney(a, b).p_value == pytest.approx(float(expected.pvalue), rel=1e-9)


def test_apart_is_the_least_p() -> None:
    assert mann_whitney([4, 5, 6], [1, 2, 3]).p_value == pytest.approx(least_mann_whitney(3, 3))
    assert mann_whitney([1, 2, 3], [4, 5, 6]).cliffs_delta == -1


def test_equal_values_do_not_differ() -> None:
    assert mann_whitney([2.0] * 20, [2.0] * 20).p_value == 1
