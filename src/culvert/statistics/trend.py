"""Whether a series drifts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from culvert.statistics.serial import inflation
from culvert.statistics.values import Array, Values, array, ranks

FEWEST = 5
"""Four values in order come about by chance in one of twelve series."""


@dataclass(frozen=True)
class Trend:
    """``tau`` is from -1 (always down) to 1."""

    tau: float
    p_value: float


def mann_kendall(values: Values) -> Trend:
    """Kendall's tau with the order of measuring, and the p value of the Mann-Kendall test.

    Mann (Econometrica 13, 1945); the variance is corrected for correlation as by Yue and Wang
    (Water Resources Management 18, 2004): n over the effective sample size, of the ranks without
    their trend. Tau is SciPy's. With fewer than 5 values, or without spread: tau 0 and p 1.
    """
    return _mann_kendall(array(values).tobytes())


@lru_cache(4096)
def _mann_kendall(content: bytes) -> Trend:
    """Cached: claims test one series several times, once per compared VPN."""
    from scipy import stats  # noqa: PLC0415 - slow to import, seldom needed
    from scipy.special import ndtr, ndtri  # noqa: PLC0415

    sample = np.frombuffer(content)
    n = sample.size
    if n < FEWEST or np.ptp(sample) == 0:
        return Trend(0.0, 1.0)
    found = stats.kendalltau(np.arange(n), sample)
    factor = inflation(_without_trend(ranks(sample)), 2)
    p_value = float(found.pvalue)
    if factor > 1:
        p_value = float(2 * ndtr(ndtri(p_value / 2) / math.sqrt(factor)))
    return Trend(float(found.statistic), min(1.0, p_value))


def _without_trend(sample: Array) -> Array:
    """The residuals of a least squares line."""
    places = np.arange(sample.size) - (sample.size - 1) / 2
    about = sample - sample.mean()
    return np.asarray(about - places * (places @ about) / (places @ places))
