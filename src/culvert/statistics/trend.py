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

EXACT = 33
"""Up to so many values without ties the distribution of tau is exact, as in SciPy."""

_ROWS = 512
"""Values compared with all others at once: a long series must not take a square of memory."""


@dataclass(frozen=True)
class Trend:
    """``tau`` is from -1 (always down) to 1."""

    tau: float
    p_value: float


def mann_kendall(values: Values) -> Trend:
    """Kendall's tau with the order of measuring, and the p value of the Mann-Kendall test.

    Mann (Econometrica 13, 1945); the variance is corrected for correlation as by Yue and Wang
    (Water Resources Management 18, 2004): n over the effective sample size, of the ranks without
    their trend. Tau and the uncorrected p are those of ``scipy.stats.kendalltau``, which takes
    most of a second to import. With fewer than 5 values, or without spread: tau 0 and p 1.
    """
    return _mann_kendall(array(values).tobytes())


@lru_cache(4096)
def _mann_kendall(content: bytes) -> Trend:
    """Cached: claims test one series several times, once per compared VPN."""
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - slow to import, seldom needed

    sample = np.frombuffer(content)
    n = sample.size
    if n < FEWEST or np.ptp(sample) == 0:
        return Trend(0.0, 1.0)
    placed = ranks(sample)
    up = _rising(placed)
    _, equal = np.unique(placed, return_counts=True)
    pairs, tied = n * (n - 1) // 2, int((equal * (equal - 1) // 2).sum())
    above = 2 * up - (pairs - tied)
    tau = above / math.sqrt(pairs) / math.sqrt(pairs - tied)
    if not tied and n <= EXACT:
        p_value = 2 * float(_exact(n)[min(up, pairs - up)])
    else:
        variance = (n * (n - 1) * (2 * n + 5) - (equal * (equal - 1) * (2 * equal + 5)).sum()) / 18
        p_value = float(2 * ndtr(-abs(above) / math.sqrt(variance)))
    factor = inflation(_without_trend(placed), 2)
    if factor > 1:
        p_value = float(2 * ndtr(ndtri(min(1.0, p_value) / 2) / math.sqrt(factor)))
    return Trend(min(1.0, max(-1.0, tau)), min(1.0, p_value))


def _rising(sample: Array) -> int:
    """Pairs whose later value is greater."""
    found = 0
    for begin in range(0, sample.size, _ROWS):
        part, later = sample[begin : begin + _ROWS, None], sample[begin:]
        found += int(np.count_nonzero(np.triu(part < later)))
    return found


@lru_cache(EXACT)
def _exact(n: int) -> Array:
    """P(at most k falling pairs), for k from 0, of n values in random order (Kendall, 1970)."""
    found = np.ones(1)
    for values in range(2, n + 1):
        found = np.convolve(found, np.full(values, 1 / values))
    return np.cumsum(found)


def _without_trend(sample: Array) -> Array:
    """The residuals of a least squares line."""
    places = np.arange(sample.size) - (sample.size - 1) / 2
    about = sample - sample.mean()
    return np.asarray(about - places * (places @ about) / (places @ places))
