from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.statistics.intervals import FEWEST, Interval, Note, median_intervals

values = st.floats(min_value=-1e12, max_value=1e12, allow_nan=False)
samples = st.lists(values, min_size=0, max_size=14)


@settings(max_examples=60, deadline=None)
@given(samples)
def test_an_interval_is_inside_the_sample_and_around_its_median_or_says_why_not(
    sample: list[float],
) -> None:
    (found,) = median_intervals([sample], seed=1)
    if len(sample) < FEWEST:
        assert found == Interval(None, None, Note.TOO_FEW)
    elif min(sample) == max(sample):
        assert found == Interval(None, None, Note.CONSTANT)
    else:
        assert found.low is not None
        assert found.high is not None
        assert min(sample) <= found.low <= found.high <= max(sample)


@settings(max_examples=30, deadline=None)
@given(st.lists(values, min_size=5, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_the_values_does_not_matter(sample: list[float], random: object) -> None:
    shuffled = list(sample)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert median_intervals([sample], seed=3) == median_intervals([shuffled], seed=3)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(values, min_size=0, max_size=9), min_size=1, max_size=6))
def test_an_interval_does_not_depend_on_what_else_is_asked(many: list[list[float]]) -> None:
    together = median_intervals(many, seed=5)
    assert together == [median_intervals([one], seed=5)[0] for one in many]


def test_a_large_batch_gives_what_single_samples_give() -> None:
    rng = np.random.default_rng(2)
    many = rng.normal(10, 1, (700, 7)).tolist()
    found = median_intervals(many, seed=9)
    for index in (0, 399, 699):
        assert found[index] == median_intervals([many[index]], seed=9)[0]


def test_the_seed_decides() -> None:
    sample = np.random.default_rng(1).normal(size=30).tolist()
    assert median_intervals([sample], seed=1) == median_intervals([sample], seed=1)
    assert median_intervals([sample], seed=1) != median_intervals([sample], seed=2)


def test_five_trials_are_told_that_they_are_five() -> None:
    (found,) = median_intervals([[1.0, 2.0, 3.0, 4.0, 5.0]], seed=1)
    assert found.note is Note.FIVE


def test_where_bca_is_undefined_the_percentile_interval_is_used_and_said() -> None:
    # Leaving one out never moves the median, so the jackknife has no spread.
    (found,) = median_intervals([[1.0, 2.0, 2.0, 2.0, 2.0, 3.0]], seed=1)
    assert found.note is Note.PERCENTILE
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 2.0 <= found.high


@pytest.mark.parametrize("size", [5, 9, 20])
def test_intervals_hold_the_true_median_about_as_often_as_they_say(size: int) -> None:
    rng = np.random.default_rng(17)
    many = rng.lognormal(0, 0.4, (600, size)).tolist()
    held = sum(not interval.excludes(1.0) for interval in median_intervals(many, seed=1))
    # 600 draws at 0.94 scatter by 0.01; five standard deviations and SciPy's own bias at small n.
    assert 0.89 <= held / 600 <= 0.985


def test_excluding() -> None:
    assert Interval(1.1, 1.2).excludes(1)
    assert not Interval(0.9, 1.2).excludes(1)
    assert not Interval(1.0, 1.2).excludes(1)
    assert not Interval(None, None).excludes(1)
