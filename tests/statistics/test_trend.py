from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from culvert.statistics.trend import Trend, _mann_kendall, mann_kendall

from .noise import correlated

FEW_TIES = st.lists(st.integers(-999, 999).map(float), min_size=5, max_size=60, unique=True)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-99, 99).map(float), max_size=20))
def test_backwards_is_the_opposite(values: list[float]) -> None:
    found, back = mann_kendall(values), mann_kendall(values[::-1])
    assert found.tau == pytest.approx(-back.tau)
    assert found.p_value == pytest.approx(back.p_value)
    assert 0 <= found.p_value <= 1


@settings(max_examples=150, deadline=None)
@given(st.one_of(FEW_TIES, st.lists(st.integers(-9, 9).map(float), min_size=5, max_size=60)))
def test_scipys_tau_and_p_without_correlation(values: list[float]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("culvert.statistics.trend.inflation", lambda *_: 1.0)
        found = _mann_kendall.__wrapped__(np.asarray(values).tobytes())
    expected = stats.kendalltau(range(len(values)), values)
    if len(set(values)) == 1:
        assert found == Trend(0.0, 1.0)
        return
    assert found.tau == pytest.approx(float(expected.statistic), abs=1e-12)
    # Beyond 33 values SciPy is exact where at most one pair falls; p is below 1e-14 there.
    assert found.p_value == pytest.approx(float(expected.pvalue), rel=1e-9, abs=1e-14)


def test_pairs_are_counted_in_parts_as_in_one() -> None:
    sample = np.random.default_rng(3).permutation(1500).astype(float)
    assert mann_kendall(sample).tau == pytest.approx(
        float(stats.kendalltau(range(1500), sample).statistic)
    )


def test_a_line_is_a_line() -> None:
    found = mann_kendall([5 + 0.25 * t for t in range(12)])
    assert found.tau == pytest.approx(1)
    assert found.p_value < 1e-6


@pytest.mark.parametrize(("phi", "most"), [(0.0, 0.03), (0.5, 0.06)])
def test_steady_series_seldom_drift(phi: float, most: float) -> None:
    series = correlated(phi, 50, 300, seed=5)
    assert np.mean([mann_kendall(one).p_value < 0.01 for one in series]) <= most


def test_a_drift_of_four_deviations_is_found() -> None:
    series = correlated(0.0, 30, 100, seed=6) + np.linspace(0, 4, 30)
    assert np.mean([mann_kendall(one).p_value < 0.01 for one in series]) >= 0.95
