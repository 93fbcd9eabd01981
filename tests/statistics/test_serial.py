from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.statistics.serial import effective_sample_size, lag1, lag1_p_value

from .noise import correlated


@given(st.lists(st.floats(-1e9, 1e9), max_size=30))
def test_worth_is_from_one_to_the_number_of_trials(values: list[float]) -> None:
    effective_n = effective_sample_size(values)
    assert min(1, len(values)) <= effective_n <= len(values)
    found = lag1(values)
    assert found is None or -1 <= found <= 1
    assert (lag1_p_value(values) is None) == (found is None)


def test_lag_one_is_what_its_formula_says() -> None:
    x = np.array([1.0, 4.0, 2.0, 8.0, 5.0, 7.0])
    about = x - x.mean()
    assert lag1(x) == pytest.approx((about[1:] * about[:-1]).sum() / (about**2).sum())


def test_a_level_and_a_unit_change_nothing() -> None:
    x = correlated(0.5, 60, 1, seed=1)[0]
    assert effective_sample_size(1e6 + 3 * x) == pytest.approx(effective_sample_size(x))


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.8])
def test_worth_is_that_of_theory(phi: float) -> None:
    series = correlated(phi, 400, 100, seed=2)
    truth = 400 * (1 - phi) / (1 + phi)
    found = np.median([effective_sample_size(one) for one in series])
    assert found == pytest.approx(truth, rel=0.15)


def test_independent_series_are_seldom_called_correlated_and_correlated_ones_mostly() -> None:
    def share(phi: float) -> float:
        series = correlated(phi, 50, 400, seed=3)
        return float(np.mean([(lag1_p_value(one) or 0.0) < 0.01 for one in series]))

    assert share(0.0) <= 0.03
    assert share(0.7) >= 0.95
