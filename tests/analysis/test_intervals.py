from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from culvert.plan.plan import Plan
from culvert.plan.precision import PrecisionState, precision_of
from culvert.statistics.intervals import FEWEST, Interval, Note, median_intervals
from culvert.statistics.looks import Looks
from culvert.study.blocks import StopRule
from tests.analysis.series import correlated

values = st.floats(min_value=-1e12, max_value=1e12, allow_nan=False)
samples = st.lists(values, min_size=0, max_size=14)


@settings(max_examples=60, deadline=None)
@given(samples)
def test_an_interval_is_inside_the_sample_and_around_its_median_or_says_why_not(
    sample: list[float],
) -> None:
    (found,) = median_intervals([sample], serial=False)
    if len(sample) < FEWEST:
        assert found == Interval(None, None, Note.TOO_FEW)
    elif min(sample) == max(sample):
        assert found == Interval(None, None, Note.CONSTANT)
    else:
        assert found.low is not None
        assert found.high is not None
        assert min(sample) <= found.low <= found.high <= max(sample)


@settings(max_examples=30, deadline=None)
@given(st.lists(values, min_size=6, max_size=12), st.randoms(use_true_random=False))
def test_without_a_series_the_order_of_the_values_does_not_matter(
    sample: list[float], random: object
) -> None:
    shuffled = list(sample)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    both = (median_intervals([one], serial=False) for one in (sample, shuffled))
    assert next(both) == next(both)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(values, min_size=0, max_size=9), min_size=1, max_size=6))
def test_an_interval_does_not_depend_on_what_else_is_asked(many: list[list[float]]) -> None:
    assert median_intervals(many) == [median_intervals([one])[0] for one in many]


def test_six_trials_are_the_fewest() -> None:
    sample = [1.0, 4.0, 2.0, 5.0, 3.0]
    five, six = median_intervals([sample, [*sample, 2.5]])
    assert five == Interval(None, None, Note.TOO_FEW)
    assert six.low is not None
    assert six.high is not None
    assert 1 <= six.low < 2.75 < six.high <= 5


def test_ends_lie_where_the_tables_of_order_statistics_have_them() -> None:
    # Of ten values the 2nd and the 9th enclose the median with 97.9 %, the 3rd and 8th with 89.1 %.
    (found,) = median_intervals([[float(k) for k in range(1, 11)]], serial=False)
    assert found.low is not None
    assert 2 < found.low < 3
    assert found.high == pytest.approx(11 - found.low)


def _held(many: NDArray[np.float64], **options: object) -> float:
    found = median_intervals(many.tolist(), **options)  # type: ignore[arg-type]
    return sum(not interval.excludes(1.0) for interval in found) / len(many)


@pytest.mark.parametrize("size", [6, 7, 9, 13, 20])
def test_intervals_cover_the_true_median_as_often_as_they_say(size: int) -> None:
    many = np.random.default_rng(17).lognormal(0, 0.4, (3000, size))
    # Three standard deviations of the count.
    assert _held(many, serial=False) == pytest.approx(0.95, abs=0.012)
    assert 0.94 <= _held(many) <= 0.98


@pytest.mark.parametrize(("size", "least"), [(7, 0.83), (10, 0.85), (20, 0.88), (30, 0.90)])
def test_correlation_shows_in_the_width(size: int, least: float) -> None:
    """Of series with the lag-1 correlation 0.5; without the widening 77 to 80 %."""
    many = np.exp(0.1 * correlated(np.random.default_rng(3), 1500, size, 0.5))
    assert _held(many) >= least


def test_the_widest_interval_is_finite() -> None:
    """Of quotients of the smallest and the greatest figures."""
    (found,) = median_intervals([[1e-48] * 9 + [1e48] * 7])
    assert found.note is Note.WIDENED
    assert found.high is not None
    assert 1e48 < found.high < np.inf


@pytest.mark.parametrize("sd", [0.01, 0.03])
def test_intervals_of_runs_that_a_rule_stopped_hold(sd: float) -> None:
    """The rule "ci <= 2%" looks after every block from 5 to 30."""
    plan = Plan((), 1, min_blocks=5, max_blocks=30, rule=StopRule(0.02))
    rng = np.random.default_rng(8)
    held = 0
    for _ in range(400):
        sample = (1 + sd * rng.standard_normal(30)).tolist()
        for n in range(5, 31):
            state = precision_of({"x": sample[:n]}, 0.02, looks=plan.looks)["x"].state
            if state is PrecisionState.PRECISE or n == 30:
                break
        (found,) = median_intervals([sample[:n]], plan.looks)
        held += found.low is not None and not found.excludes(1.0)
    assert held / 400 >= 0.95 - 0.02


def test_what_comes_too_early_for_a_repeated_interval_says_so() -> None:
    looks = Looks(first=5, last=30).reaching()
    sample = [1.0, 1.1, 0.9, 1.05, 0.95, 1.02, 0.97, 1.03]
    early, late = median_intervals([sample[:6], sample], looks)
    assert (early.low, early.note) == (None, Note.TOO_EARLY)
    assert late.low is not None
    assert late.note is Note.REPEATED


def test_an_interval_excludes_what_lies_outside_its_ends() -> None:
    assert Interval(1.1, 1.2).excludes(1)
    assert not Interval(0.9, 1.2).excludes(1)
    assert not Interval(1.0, 1.2).excludes(1)
    assert not Interval(None, None).excludes(1)
