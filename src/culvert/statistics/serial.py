"""Whether the trials of a series are independent, and their effective number if not."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from culvert.statistics.values import Array, Values, array, ranks

FEWEST = 5
"""With fewer values no correlation can be estimated."""


def lag1(values: Values) -> float | None:
    """The correlation of each value with the next; None with fewer than 3 values or no spread."""
    found = correlations(array(values), 1)
    return None if found is None else float(found[0])


def lag1_p_value(values: Values) -> float | None:
    """The p value of a positive correlation, for independent values in random order.

    On the ranks, so that an outlier is no evidence. Moran (Biometrika 35, 1948): mean -1/n,
    variance (n - 2)**2 / (n**2 (n - 1)). None where ``lag1`` is.
    """
    return _lag1_p_value(array(values).tobytes())


@lru_cache(4096)
def _lag1_p_value(content: bytes) -> float | None:
    """Cached: a series is tested for its median, for its mean and for itself."""
    from scipy.special import ndtr  # noqa: PLC0415 - slow to import, seldom needed

    sample = np.frombuffer(content)
    found = lag1(ranks(sample)) if sample.size else None
    if found is None:
        return None
    n = sample.size
    return float(ndtr(-(found + 1 / n) / ((n - 2) / (n * math.sqrt(n - 1)))))


def effective_sample_size(values: Values) -> float:
    """The equivalent number of independent trials for the mean: n / (1 + 2 sum of correlations).

    The sum ends where the correlation of two neighbouring lags is no longer positive (Geyer,
    Statistical Science 7, 1992); each estimate is first freed of its bias of about -1/n. From 1 to
    n: a series that swings is not worth more than its trials.
    """
    sample = array(values)
    n = sample.size
    found = correlations(sample, n // 2) if n >= FEWEST else None
    if found is None:
        return float(n)
    rho = np.concatenate([[1.0], found + (1 + found) / n])
    total = -1.0
    least = math.inf
    for lag in range(0, rho.size - 1, 2):
        pair = rho[lag] + rho[lag + 1]
        if pair <= 0:
            break
        least = min(least, pair)
        total += 2 * least
    return float(min(n, max(1.0, n / max(total, 1.0))))


def inflation(residuals: Values, fitted: int) -> float:
    """By how much correlation of first order inflates the variance of a mean: (1 + r) / (1 - r).

    At least 1. ``residuals`` are what is left after ``fitted`` parameters; each takes
    (1 + 3 r) / n from r (Marriott and Pope, Biometrika 41, 1954), which is given back.
    """
    sample = array(residuals)
    found = correlations(sample, 1)
    if found is None:
        return 1.0
    r = float(found[0])
    r = min(max(r + fitted * (1 + 3 * r) / sample.size, 0.0), 0.95)
    return (1 + r) / (1 - r)


def correlations(sample: Array, lags: int) -> Array | None:
    """Lags 1 to ``lags``, each sum of products divided by that of lag 0; None without spread."""
    if sample.size < 3 or np.ptp(sample) == 0:
        return None
    about = sample - sample.mean()
    about = about / np.abs(about).max()
    if lags == 1:
        return np.array([about[1:] @ about[:-1] / (about @ about)])
    # By the Fourier transform (Wiener and Khinchin): all lags at once.
    size = 1 << (2 * sample.size - 1).bit_length()
    spectrum = np.fft.rfft(about, size)
    sums = np.fft.irfft(spectrum * spectrum.conj(), size)
    return np.asarray(sums[1 : lags + 1] / sums[0])


SHOWN_BELOW = 0.2
"""For an interval, a series with a smaller ``lag1_p_value`` counts as correlated: a missed
correlation reduces coverage, a false one only widens the interval."""


def widening(values: Values) -> float:
    """By how much the correlation of neighbours widens an interval; 1 where none is shown.

    The root of (1 + r) / (1 - r), r freed of its bias (``inflation``).
    """
    sample = array(values)
    p_value = lag1_p_value(sample)
    if p_value is None or p_value >= SHOWN_BELOW:
        return 1.0
    return math.sqrt(inflation(sample, 1))
