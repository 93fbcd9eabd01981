from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.statistics.intervals import Note, mean_intervals
from culvert.statistics.values import describe

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


def test_infinity_cannot_be_described() -> None:
    for bad in ([1.0, float("nan")], [float("inf")]):
        with pytest.raises(ValueError, match=r"."):
            describe(bad)


def test_equal_values_have_no_spread_whatever_they_are() -> None:
    found = describe([0.1] * 7)
    assert (found.sd, found.cv) == (0.0, 0.0)
    assert describe([-1.0, 1.0]).cv is None


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1e12, 1e12), min_size=6, max_size=12, unique=True))
def test_the_interval_is_around_the_mean(sample: list[float]) -> None:
    (found,) = mean_intervals([sample])
    assert found.low is not None
    assert found.high is not None
    assert found.low <= np.mean(sample) <= found.high


def test_without_an_interval_it_is_said_why() -> None:
    few, constant = mean_intervals([[1.0, 2.0], [1.0] * 9])
    assert (few.note, constant.note) == (Note.TOO_FEW, Note.CONSTANT)


@pytest.mark.parametrize("n", [6, 8, 20])
def test_it_holds_the_true_mean_about_as_often_as_it_says(n: int) -> None:
    many = np.random.default_rng(5).normal(100, 3, (2000, n))
    held = sum(not found.excludes(100.0) for found in mean_intervals(many.tolist()))
    assert 0.94 <= held / 2000 <= 0.98
