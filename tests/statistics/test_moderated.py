"""A variance for each contestant of a column, and values without outliers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.statistics.moderated import moderated


def noise(seed: int, blocks: int, spreads: list[float]) -> np.ndarray:
    """Values with an effect of the block, and normal noise of these standard deviations."""
    rng = np.random.default_rng(seed)
    drift = rng.standard_normal((blocks, 1))
    return np.asarray(drift + rng.standard_normal((blocks, len(spreads))) * spreads)


def test_variances_of_many_blocks_are_the_true_ones() -> None:
    found = moderated(noise(1, 2000, [1, 1, 2, 3]))
    assert np.sqrt(found.variances) == pytest.approx([1, 1, 2, 3], rel=0.1)


def test_equal_variances_lend_what_the_others_know() -> None:
    """Of 24 degrees of freedom each of five has a fifth, and borrows three more in most."""
    found = [moderated(noise(seed, 7, [1.0] * 5)) for seed in range(100)]
    assert max(one.df for one in found) == pytest.approx(24 * 4 / 5)
    assert np.median([one.df for one in found]) == pytest.approx(24 * 4 / 5)
    # A little less: of few values some are beyond four estimated deviations.
    assert np.mean([one.variances for one in found]) == pytest.approx(0.95, rel=0.1)


def test_unequal_variances_keep_their_own() -> None:
    found = [moderated(noise(seed, 12, [1, 1, 1, 1, 10])) for seed in range(100)]
    steady, noisy = (np.mean([one.variances[i] for one in found]) for i in (0, 4))
    assert noisy > 10 * steady
    assert np.median([one.df for one in found]) < 20


def test_an_outlier_is_moved_to_four_deviations_and_others_stay() -> None:
    values = noise(2, 40, [1.0] * 5)
    values[3, 1] += 100
    found = moderated(values)
    moved = found.values != values
    assert moved[3, 1]
    assert moved.sum() == 1
    assert abs(found.values[3, 1] - np.median(values[3])) < 8


def test_where_most_values_are_equal_nothing_counts_as_an_outlier() -> None:
    values = np.zeros((8, 3))
    values[2, 1] = 5
    assert (moderated(values).values == values).all()


def test_values_that_never_vary_have_no_variance() -> None:
    assert not moderated(np.tile([4.6, 4.6, 5.7], (8, 1))).variances.any()


def test_missing_trials_are_no_values() -> None:
    values = noise(3, 400, [1, 1, 2])
    values[::3, 2] = np.nan
    values[5] = np.nan
    values[7, :2] = np.nan
    found = moderated(values)
    assert (np.isnan(found.values) == np.isnan(values)).all()
    assert np.sqrt(found.variances) == pytest.approx([1, 1, 2], rel=0.2)


@given(
    st.lists(
        st.lists(st.one_of(st.just(float("nan")), st.floats(-1e6, 1e6)), min_size=3, max_size=3),
        min_size=1,
        max_size=12,
    )
)
def test_any_table_has_variances_that_are_not_negative(rows: list[list[float]]) -> None:
    found = moderated(np.array(rows))
    assert found.values.shape == (len(rows), 3)
    assert ((found.variances >= 0) | (found.df == 0)).all()
