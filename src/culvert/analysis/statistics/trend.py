"""Whether a series drifts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from culvert.analysis.statistics.serial import inflation
from culvert.analysis.statistics.values import Array, Values, array

FEWEST = 5
"""Four values in order come about by chance in one of twelve series."""


@dataclass(frozen=True)
class Trend:
    """``tau`` from -1 (always down) to 1; ``slope`` in units of the values per trial."""

    tau: float
    p_value: float
    slope: float


def mann_kendall(values: Values) -> Trend:
    """The Mann-Kendall test, its variance corrected for correlation, and the Theil-Sen slope.

    Mann (Econometrica 13, 1945); the correction is that of Yue and Wang (Water Resources
    Management 18, 2004), n over the effective sample size, of the ranks without their trend.
    Kendall's tau is SciPy's. With fewer than 5 values, or without spread: tau 0 and p 1.
    """
    from scipy import stats  # noqa: PLC0415 - slow to import, seldom needed

    sample = array(values)
    n = sample.size
    if n < FEWEST or np.ptp(sample) == 0:
        return Trend(0.0, 1.0, 0.0)
    places = np.arange(n)
    found = stats.kendalltau(places, sample)
    ranks = stats.rankdata(sample)
    factor = inflation(ranks - np.polynomial.Polynomial.fit(places, ranks, 1)(places), 2)
    p_value = float(found.pvalue)
    if factor > 1:
        p_value = float(2 * stats.norm.sf(stats.norm.isf(p_value / 2) / math.sqrt(factor)))
    return Trend(float(found.statistic), min(1.0, p_value), theil_sen(sample))


def theil_sen(sample: Array) -> float:
    """The median of the slopes between all pairs (Sen, JASA 63, 1968)."""
    n = sample.size
    slopes = [(sample[lag:] - sample[:-lag]) / lag for lag in range(1, n)]
    return float(np.median(np.concatenate(slopes)))
