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


RAISED = 2.5
"""An r that is too small by chance raises false alarms, as its variance does; with this, equals
that correlate by 0.5 are called different in less than 8 %, with any number of blocks and
contestants."""

RAISED_STOPPED = 4.0
"""The same where a rule can end the run: of several looks one with a small r is enough."""

UNKNOWN = 1.5
"""The inflation with so few blocks that no correlation can be estimated: with it equals that
correlate by 0.5 are called different in less than 8 % there too."""


def shared_inflation(values: Array, raised: float = RAISED) -> float:
    """By how much correlation inflates the variance of means of differences of columns, at least 1.

    ``values`` (n, k): a row a block in the order of time, a column a contestant; NaN where a trial
    is missing. What a block does to all is taken out first. All columns share one estimate r of the
    lag-1 correlation, freed of its bias (1 + 4 r) / n (Kendall, Biometrika 41, 1954) and increased
    by ``raised`` times its variance 1 / (n (k - 1)). The variance that correlated values
    have about their own mean is too small as well, which is given back. With ``FEWEST`` blocks or
    less r is not known: ``UNKNOWN`` at least.
    """
    whole = values[~np.isnan(values).any(axis=1)]
    n = whole.shape[0]
    least = UNKNOWN if n <= FEWEST else 1.0
    if n < FEWEST or whole.shape[1] < 2:
        return least
    about = whole - whole.mean(axis=1, keepdims=True)
    about = about - about.mean(axis=0)
    size = np.sqrt((about**2).sum(axis=0))
    # A contestant whose trials are equal except for rounding has no correlation.
    about = about[:, size > 1e-12 * max(1.0, float(np.abs(whole).max()))]
    if not about.shape[1]:
        return least
    about = about / np.sqrt((about**2).sum(axis=0))
    raw = float((about[1:] * about[:-1]).sum()) / about.shape[1]
    variance = 1 / (n * max(1, about.shape[1] - 1))
    r = min(max((n * raw + 1) / (n - 4) + raised * variance, 0.0), 0.9)
    factor = min((1 + r) / (1 - r), n / 1.5)
    return max(least, float(factor * (1 - 1 / n) / (1 - factor / n)))
