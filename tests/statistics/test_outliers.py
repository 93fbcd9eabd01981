from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from culvert.statistics.outliers import flagged


@given(st.lists(st.floats(-1e9, 1e9), max_size=20))
def test_each_value_gets_an_answer_and_less_than_half_are_flagged(values: list[float]) -> None:
    found = flagged(values)
    assert len(found) == len(values)
    assert sum(found) <= len(values) / 2


def test_one_apart_is_flagged_and_in_its_place() -> None:
    assert flagged([10, 11, 9, 50, 10, 10.5]) == [False, False, False, True, False, False]
    assert flagged([1.0] * 19 + [2.0]) == [False] * 19 + [True]
    assert flagged([1.0, 1.0, 1.0, 99.0]) == [False] * 4


def test_normal_values_are_seldom_flagged() -> None:
    many = np.random.default_rng(11).normal(size=(200, 50))
    assert np.mean([flagged(one) for one in many]) <= 0.005
