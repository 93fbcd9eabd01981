from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.statistics.trend import mann_kendall

from .noise import correlated


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-99, 99).map(float), max_size=20))
def test_backwards_is_the_opposite(values: list[float]) -> None:
    found, back = mann_kendall(values), mann_kendall(values[::-1])
    assert found.tau == pytest.approx(-back.tau)
    assert found.p_value == pytest.approx(back.p_value)
    assert 0 <= found.p_value <= 1


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
