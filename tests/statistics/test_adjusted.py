"""Means at equal covariates."""

from __future__ import annotations

import numpy as np
import pytest

from culvert.statistics.adjusted import adjusted_mean


def test_what_the_covariate_explains_is_no_scatter() -> None:
    rng = np.random.default_rng(1)
    covariate = rng.standard_normal(20)
    own = 0.1 * rng.standard_normal(20)
    mean, se, df = adjusted_mean(0.5 + 2 * covariate + own, covariate)
    assert mean == pytest.approx(0.5, abs=0.1)
    assert se < 0.05
    assert df == 18
    _, without, df = adjusted_mean(0.5 + 2 * covariate + own, None)
    assert without > 0.2
    assert df == 19


@pytest.mark.parametrize("covariate", [np.ones(6), None])
def test_a_covariate_that_explains_nothing_is_left_out(covariate: np.ndarray | None) -> None:
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    mean, se, df = adjusted_mean(values, covariate)
    assert (mean, df) == (2.5, 5)
    assert se == pytest.approx(values.std(ddof=1) / np.sqrt(6))


def test_equal_values_have_no_standard_error() -> None:
    mean, se, df = adjusted_mean(np.full(5, 0.3), np.arange(5.0))
    assert (se, df) == (0.0, 4.0)
    assert mean == pytest.approx(0.3)
