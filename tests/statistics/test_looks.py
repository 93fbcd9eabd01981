from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from culvert.statistics.looks import levels


@pytest.mark.parametrize(
    ("first", "last", "alpha"), [(5, 20, 0.05), (5, 20, 0.0125), (10, 30, 0.05)]
)
def test_all_looks_together_take_alpha(first: int, last: int, alpha: float) -> None:
    times = 100_000
    sums = np.random.default_rng(1).standard_normal((times, last)).cumsum(axis=1)[:, first - 1 :]
    z = np.abs(sums) / np.sqrt(np.arange(first, last + 1))
    wrong = (2 * ndtr(-z) <= np.array(levels(first, last, alpha))).any(axis=1).mean()
    assert wrong == pytest.approx(alpha, abs=4 * np.sqrt(alpha / times))


def test_a_single_look_takes_all() -> None:
    (found,) = levels(7, 7, 0.05)
    assert found == pytest.approx(0.05)


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 30), st.integers(0, 30), st.floats(1e-4, 0.2))
def test_levels_are_levels(first: int, more: int, alpha: float) -> None:
    found = levels(first, first + more, alpha)
    assert len(found) == more + 1
    assert all(0 < level <= alpha * 1.0001 for level in found)
    assert sum(found) >= alpha * 0.999


def test_more_looks_leave_less_to_each() -> None:
    for few, many in itertools.pairwise([levels(5, last, 0.05) for last in (10, 20, 40)]):
        assert min(many) < min(few)
