from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.statistics.change_points import SHORTEST, change_points

from . import e_divisive
from .noise import Array, correlated


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


def test_the_newest_five_values_can_be_a_level() -> None:
    series = correlated(0.0, 40, 100, seed=11)
    series[:, -6:] += 3
    assert np.mean([bool(change_points(one, 0.05)) for one in series]) >= 0.75


@pytest.mark.parametrize("noise", ["normal", "heavy"])
def test_more_is_found_than_by_otava_at_equal_false_alarms(noise: str) -> None:
    """A new level in the middle, of the last six values, and of the middle third alone."""
    rng = np.random.default_rng(12)
    n, many, jump = 20, 60, 2.0
    threshold = {"normal": 0.001, "heavy": 0.0003}[noise]

    def series() -> Array:
        drawn = rng.normal if noise == "normal" else partial(rng.standard_t, 3)
        return np.asarray(drawn(size=(many, n))) / (1 if noise == "normal" else np.sqrt(3))

    false = [0, 0]
    for one in np.concatenate([series() for _ in range(4)]):
        false[0] += bool(change_points(one, 0.05))
        false[1] += bool(e_divisive.change_points(one, threshold))
    assert false[0] <= 0.05 * 4 * many
    assert false[0] - false[1] <= 0.03 * 4 * many
    found = [0, 0]
    for places in ([n // 2], [n - 6], [n // 3, 2 * n // 3]):
        raised = slice(places[0], places[1] if len(places) > 1 else n)
        for one in series():
            one[raised] += jump
            for index, result in enumerate(
                (change_points(one, 0.05), e_divisive.change_points(one, threshold))
            ):
                found[index] += all(any(abs(at - it) <= 3 for it in result) for at in places)
    assert found[0] > found[1] + 0.05 * 3 * many
