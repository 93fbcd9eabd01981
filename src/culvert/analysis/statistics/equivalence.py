"""Whether a difference is known to be too small to matter."""

from __future__ import annotations

import math
from dataclasses import dataclass

from culvert.analysis.statistics.median_error import welch
from culvert.analysis.statistics.serial import effective_sample_size
from culvert.analysis.statistics.values import Array, Values, array, spread


@dataclass(frozen=True)
class Equivalence:
    """``p_low`` and ``p_high`` are those of the two tests; ``p_value`` is the greater."""

    p_low: float
    p_high: float
    p_value: float
    equivalent: bool


def equivalent(differences: Values, low: float, high: float, alpha: float = 0.05) -> Equivalence:
    """Two one-sided t tests (Schuirmann, J. Pharmacokin. Biopharm. 15, 1987) of paired differences.

    Equivalent means that the mean difference lies between ``low`` and ``high``, both of which are
    rejected at ``alpha``. For a ratio within 5 %: logarithms of the ratios, log(0.95), log(1.05).
    Correlated differences count as what they are worth. Raises ValueError if low >= high.
    """
    sample = array(differences)
    mean, error, freedom = _moments(sample)
    return _two_tests(mean, error, freedom, low, high, alpha)


def equivalent_unpaired(
    a: Values, b: Values, low: float, high: float, alpha: float = 0.05
) -> Equivalence:
    """The same for the difference of the means of two independent series a - b (Welch's t)."""
    mean_a, error_a, freedom_a = _moments(array(a))
    mean_b, error_b, freedom_b = _moments(array(b))
    error, freedom = welch(error_a, freedom_a, error_b, freedom_b)
    return _two_tests(mean_a - mean_b, error, freedom, low, high, alpha)


def _moments(sample: Array) -> tuple[float, float, float]:
    """Mean, its standard error and degrees of freedom; an infinite error with fewer than 2."""
    if sample.size < 2:
        return float(sample.mean()) if sample.size else math.nan, math.inf, 1.0
    worth = max(2.0, effective_sample_size(sample))
    return float(sample.mean()), spread(sample) / math.sqrt(worth), worth - 1


def _two_tests(
    mean: float, error: float, freedom: float, low: float, high: float, alpha: float
) -> Equivalence:
    from scipy import stats  # noqa: PLC0415 - slow to import, seldom needed

    if not low < high:
        raise ValueError("the lower bound of an equivalence lies below the upper one")
    if error == math.inf:
        return Equivalence(1.0, 1.0, 1.0, equivalent=False)
    if error == 0:
        p_low, p_high = float(mean <= low), float(mean >= high)
    else:
        p_low = float(stats.t.sf((mean - low) / error, freedom))
        p_high = float(stats.t.sf((high - mean) / error, freedom))
    p_value = max(p_low, p_high)
    return Equivalence(p_low, p_high, p_value, p_value < alpha)
