from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.statistics.effects import Size, cliffs_delta, hodges_lehmann
from culvert.statistics.mann_whitney import mann_whitney

few = st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(few, few)
def test_delta_counts_pairs_and_is_antisymmetric(a: list[float], b: list[float]) -> None:
    found, other = cliffs_delta(a, b), cliffs_delta(b, a)
    pairs = [np.sign(x - y) for x in a for y in b]
    assert found.value == pytest.approx(np.mean(pairs))
    assert found.value == -other.value
    assert found.size is other.size
    if found.low is not None:
        assert found.high is not None
        assert -1 <= found.low <= found.value + 1e-9
        assert found.value - 1e-9 <= found.high <= 1
        assert other.high == pytest.approx(-found.low)


@settings(max_examples=60, deadline=None)
@given(few, few)
def test_mann_whitney_is_symmetric_and_agrees_with_delta(a: list[float], b: list[float]) -> None:
    x, y = np.array(a), np.array(b)
    found, other = mann_whitney([(x, y), (y, x)])
    assert found.p_value == pytest.approx(other.p_value)
    assert found.u + other.u == len(a) * len(b)
    assert 2 * found.u / (len(a) * len(b)) - 1 == pytest.approx(cliffs_delta(a, b).value)


@settings(max_examples=60, deadline=None)
@given(few, few, st.integers(-50, 50))
def test_a_shift_is_the_middle_difference_and_follows_a_move(
    a: list[float], b: list[float], move: int
) -> None:
    found = hodges_lehmann(a, b)
    assert found.value == np.median(np.subtract.outer(a, b))
    moved = hodges_lehmann([value + move for value in a], b)
    assert moved.value == found.value + move
    if found.low is not None:
        assert found.high is not None
        assert found.low <= found.value <= found.high


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(40, 300), st.integers(40, 300), st.integers(0, 9))
def test_large_series_give_what_sorting_all_differences_gives(
    seed: int, m: int, n: int, digits: int
) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=m).round(digits), rng.lognormal(size=n).round(digits)
    assert hodges_lehmann(a, b).value == pytest.approx(
        np.median(np.subtract.outer(a, b)), abs=1e-12
    )


def test_too_few_values_have_no_interval_at_this_level() -> None:
    assert hodges_lehmann([1.0, 2.0], [3.0, 4.0]).low is None
    assert cliffs_delta([1.0], [2.0]).low is None


@pytest.mark.parametrize("n", [10, 40])
def test_intervals_hold_the_truth_about_as_often_as_they_say(n: int) -> None:
    rng = np.random.default_rng(3)
    truth = 0.2763  # 2 Phi(0.5 / sqrt 2) - 1
    delta = shift = 0
    for _ in range(400):
        a, b = rng.normal(0.5, 1, n), rng.normal(0, 1, n)
        of_delta, of_shift = cliffs_delta(a, b), hodges_lehmann(a, b)
        assert of_delta.low is not None
        assert of_delta.high is not None
        assert of_shift.low is not None
        assert of_shift.high is not None
        delta += of_delta.low <= truth <= of_delta.high
        shift += of_shift.low <= 0.5 <= of_shift.high
    assert 0.91 <= delta / 400 <= 0.99
    assert 0.91 <= shift / 400 <= 0.99


def test_names_of_sizes() -> None:
    low = list(map(float, range(100)))
    assert cliffs_delta(low, low).size is Size.NEGLIGIBLE
    assert cliffs_delta([value + 1000 for value in low], low).size is Size.LARGE
    assert cliffs_delta([value + 12 for value in low], low).size is Size.SMALL
    assert cliffs_delta([value + 22 for value in low], low).size is Size.MEDIUM
