from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from culvert.statistics.mann_whitney import least_mann_whitney, mann_whitney
from culvert.statistics.values import Values, array

SERIES = st.lists(st.integers(-30, 30).map(float), min_size=1, max_size=14)


def p_value(a: Values, b: Values) -> float:
    (found,) = mann_whitney([(array(a), array(b))])
    return found.p_value


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(SERIES, SERIES), max_size=5))
def test_together_each_is_as_scipy_tests_it_alone(
    pairs: list[tuple[list[float], list[float]]],
) -> None:
    found = mann_whitney([(array(a), array(b)) for a, b in pairs])
    for (a, b), test in zip(pairs, found, strict=True):
        expected = stats.mannwhitneyu(a, b, alternative="two-sided")
        assert test.u == expected.statistic
        assert test.p_value == pytest.approx(float(expected.pvalue), rel=1e-9, abs=1e-15)


def test_ties_of_one_pair_leave_the_others_exact() -> None:
    tied, apart = ([1.0, 2, 3], [3.0, 4, 5]), ([1.0, 2, 3], [4.0, 5, 6])
    _, exact = mann_whitney([(array(a), array(b)) for a, b in (tied, apart)])
    assert exact.p_value == pytest.approx(least_mann_whitney(3, 3))


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 9), (5, 60), (8, 8), (8, 40), (9, 9), (20, 35)])
def test_scipys_p_without_ties(m: int, n: int) -> None:
    rng = np.random.default_rng(m * n)
    for shift in (0.0, 0.5, 2.0):
        a, b = rng.normal(shift, 1, m), rng.normal(0, 1, n)
        expected = stats.mannwhitneyu(a, b, alternative="two-sided")
        assert p_value(a, b) == pytest.approx(float(expected.pvalue), rel=1e-9)


def test_apart_is_the_least_p() -> None:
    assert p_value([4, 5, 6], [1, 2, 3]) == pytest.approx(least_mann_whitney(3, 3))


def test_equal_values_do_not_differ() -> None:
    assert p_value([2.0] * 20, [2.0] * 20) == 1
