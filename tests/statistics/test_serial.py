from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.statistics.serial import effective_sample_size, lag1, lag1_p_value, shared_inflation

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


def test_an_outlier_is_no_correlation() -> None:
    calm = np.random.default_rng(4).normal(size=30)
    calm[10:12] += 1000
    assert (lag1(calm) or 0) > 0.4
    assert (lag1_p_value(calm) or 0) > 0.01


@pytest.mark.parametrize(("contestants", "blocks"), [(2, 8), (2, 20), (5, 7), (5, 20)])
def test_the_inflation_of_a_column_is_seldom_below_the_true_one(
    contestants: int, blocks: int
) -> None:
    """At lag-1 correlation 0.5; an estimate in the middle would be below it in every second one."""
    series = correlated(0.5, blocks, 400 * contestants, seed=5).reshape(400, contestants, blocks)
    lags = np.arange(1, blocks)
    of_mean = (1 + 2 * float(((1 - lags / blocks) * 0.5**lags).sum())) / blocks
    truth = of_mean * (blocks - 1) / (1 - of_mean)
    found = np.array([shared_inflation(one.T) for one in series])
    assert (found >= truth).mean() >= 0.65
    independent = correlated(0.0, blocks, 400 * contestants, seed=6)
    alone = [shared_inflation(one.T) for one in independent.reshape(400, contestants, blocks)]
    assert min(alone) >= 1.0
    assert np.median(alone) <= 2.2


def test_contestants_without_scatter_have_no_inflation() -> None:
    assert shared_inflation(np.ones((8, 3))) == 1.0
