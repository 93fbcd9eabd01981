from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from culvert.analysis.statistics.equivalence import equivalent, equivalent_unpaired
from culvert.analysis.statistics.serial import effective_sample_size

from .noise import correlated


def test_independent_trials_give_scipys_t_tests() -> None:
    rng = np.random.default_rng(12)
    checked = 0
    while checked < 20:
        a, b = rng.normal(0.1, 1, 12), rng.normal(0, 2, 9)
        if effective_sample_size(a) < 12 or effective_sample_size(b) < 9:
            continue
        checked += 1
        found = equivalent(a, -0.5, 0.7)
        assert found.p_low == pytest.approx(stats.ttest_1samp(a, -0.5, alternative="greater")[1])
        assert found.p_high == pytest.approx(stats.ttest_1samp(a, 0.7, alternative="less")[1])
        two = equivalent_unpaired(a, b, -0.5, 0.7)
        below = stats.ttest_ind(a + 0.5, b, equal_var=False, alternative="greater")
        assert two.p_low == pytest.approx(below.pvalue)
        assert two.p_value == max(two.p_low, two.p_high)


def test_changing_the_sides_changes_the_sides() -> None:
    a, b = np.random.default_rng(13).normal(size=(2, 10))
    found, other = equivalent_unpaired(a, b, -1, 2), equivalent_unpaired(b, a, -2, 1)
    assert (found.p_low, found.p_high) == pytest.approx((other.p_high, other.p_low))


def test_too_little_data_is_equivalent_to_nothing() -> None:
    assert not equivalent([0.0], -1, 1).equivalent
    assert not equivalent_unpaired([], [1.0], -1, 1).equivalent
    assert equivalent([0.0, 0.0, 0.0], -1, 1).equivalent
    assert not equivalent([2.0, 2.0], -1, 1).equivalent
    with pytest.raises(ValueError, match="below"):
        equivalent([1.0, 2.0], 1, 1)


@pytest.mark.parametrize(("phi", "most"), [(0.0, 0.08), (0.6, 0.10)])
def test_those_at_the_margin_are_seldom_called_equivalent(phi: float, most: float) -> None:
    a, b = correlated(phi, 50, 300, seed=14), correlated(phi, 50, 300, seed=15)
    false = [equivalent_unpaired(x + 1, y, -1, 1).equivalent for x, y in zip(a, b, strict=True)]
    assert np.mean(false) <= most
    true = [equivalent_unpaired(x, y, -1.5, 1.5).equivalent for x, y in zip(a, b, strict=True)]
    assert np.mean(true) >= 0.9
