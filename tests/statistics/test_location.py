from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.statistics.intervals import Note, mean_intervals
from culvert.statistics.location import describe, mean_interval

values = st.lists(st.floats(-1e12, 1e12, allow_subnormal=False), min_size=1, max_size=20)


@given(values)
def test_figures_are_numpys(sample: list[float]) -> None:
    found = describe(sample)
    assert (found.n, found.median) == (len(sample), np.median(sample))
    assert found.mean == pytest.approx(np.mean(sample))
    if len(sample) == 1:
        assert found.sd is None
    else:
        assert found.sd == pytest.approx(
            np.std(sample, ddof=1), abs=1e-9 * np.abs(sample).max() + 1e-150
        )


def test_nothing_and_infinity_cannot_be_described() -> None:
    for bad in ([], [1.0, float("nan")], [float("inf")]):
        with pytest.raises(ValueError, match=r"."):
            describe(bad)


def test_equal_values_have_no_spread_whatever_they_are() -> None:
    found = describe([0.1] * 7)
    assert (found.sd, found.cv) == (0.0, 0.0)
    assert describe([-1.0, 1.0]).cv is None


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1e12, 1e12), min_size=5, max_size=12, unique=True))
def test_the_interval_is_around_the_mean_and_within_the_values(sample: list[float]) -> None:
    found = mean_interval(sample, 1)
    assert found.low is not None
    assert found.high is not None
    slack = 1e-9 * max(map(abs, sample))
    assert min(sample) <= found.low <= np.mean(sample) + slack
    assert np.mean(sample) - slack <= found.high <= max(sample)


def test_without_an_interval_it_is_said_why() -> None:
    assert mean_interval([1.0, 2.0], 1).note is Note.TOO_FEW
    assert mean_interval([1.0] * 9, 1).note is Note.CONSTANT


def test_it_holds_the_true_mean_of_skewed_data_about_as_often_as_it_says() -> None:
    many = np.random.default_rng(5).lognormal(0, 0.4, (800, 20))
    truth = np.exp(0.08)
    held = sum(not found.excludes(truth) for found in mean_intervals(many.tolist(), seed=1))
    assert 0.90 <= held / 800 <= 0.98
