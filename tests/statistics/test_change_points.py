from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.statistics.change_points import SHORTEST, change_points

from .noise import correlated


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1e9, 1e9), max_size=40))
def test_levels_are_long_enough(values: list[float]) -> None:
    ends = [0, *change_points(values), len(values)]
    if len(ends) > 2:
        assert min(np.diff(ends)) >= SHORTEST


def test_jumps_are_found_where_they_are() -> None:
    series = np.random.default_rng(0).normal(size=90)
    series[30:60] += 8
    assert change_points(series) == [30, 60]
    series = np.random.default_rng(0).normal(size=60)
    series[30:] += 8
    assert change_points(series) == [30]
    assert change_points([1.0] * 20 + [2.0] * 20) == [20]


@pytest.mark.parametrize(("phi", "most"), [(0.0, 0.03), (0.3, 0.06), (0.5, 0.08)])
def test_steady_series_are_seldom_split(phi: float, most: float) -> None:
    series = correlated(phi, 50, 300, seed=8)
    assert np.mean([bool(change_points(one)) for one in series]) <= most


def test_a_jump_of_three_deviations_is_found() -> None:
    series = correlated(0.0, 40, 100, seed=9)
    series[:, 20:] += 3
    assert np.mean([bool(change_points(one)) for one in series]) >= 0.97


def test_an_outlier_is_no_jump() -> None:
    series = np.random.default_rng(10).normal(size=40)
    series[20:23] += 1000
    assert change_points(series) == []
