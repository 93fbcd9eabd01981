"""The ratio of the medians of two independent series, correlated or not, and the standard error of
a median."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from culvert.statistics.intervals import FEWEST, Interval, Note
from culvert.statistics.serial import effective_sample_size
from culvert.statistics.values import Array, Values, array, ratio_of

_LEVEL = 0.95
_RESAMPLES = 4999


def median_error(values: Array, seed: int) -> tuple[float, float]:
    """The standard error of the median, and its degrees of freedom.

    The bootstrap assumes independent values; its error is widened for their effective number
    (``effective_sample_size``).
    """
    n = values.size
    effective_n = max(2.0, effective_sample_size(values))
    ordered = np.sort(values)
    lower, upper = middle(n, _RESAMPLES, seed)
    drawn = (ordered[lower] + ordered[upper]) / 2
    # Equal values may differ by rounding from their mean.
    error = float(drawn.std(ddof=1)) if np.ptp(drawn) > 0 else 0.0
    return error * math.sqrt(n / effective_n), effective_n - 1


def welch(
    error_a: float, freedom_a: float, error_b: float, freedom_b: float
) -> tuple[float, float]:
    """The standard error of a difference and its degrees of freedom (Welch, Satterthwaite)."""
    error = math.hypot(error_a, error_b)
    if error == 0 or math.isinf(error):
        return error, min(freedom_a, freedom_b)
    share_a, share_b = (error_a / error) ** 4, (error_b / error) ** 4
    return error, 1 / (share_a / freedom_a + share_b / freedom_b)


@lru_cache(maxsize=1024)
def middle(n: int, resamples: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions, in the sorted sample of n, of the two middle values of each resample.

    The k-th smallest of n draws from 0..1 is Beta(k, n + 1 - k), and the next one above it is the
    least of the n - k that are left (David and Nagaraja, "Order Statistics", 2003). Both are one
    where n is odd. Kept between calls: read only.
    """
    rng = np.random.default_rng(seed)
    k = (n + 1) // 2
    first = rng.beta(k, n + 1 - k, size=resamples)
    lower = np.minimum((first * n).astype(np.intp), n - 1)
    if n % 2:
        return lower, lower
    second = first + (1 - first) * rng.beta(1, n - k, size=resamples)
    return lower, np.minimum((second * n).astype(np.intp), n - 1)


def ratio_of_medians(a: Values, b: Values, seed: int = 0) -> Interval:
    """The interval of median(a) / median(b); both positive, else no interval.

    On the logarithms: the standard errors of both medians by the bootstrap, each widened by what
    correlation leaves of its trials (``effective_sample_size``), and Student's t with the degrees
    of freedom of Welch and Satterthwaite. Fewer than ``FEWEST`` trials in either: no interval.
    """
    x, y = array(a), array(b)
    if min(x.size, y.size) < FEWEST:
        return Interval(None, None, Note.TOO_FEW)
    if min(x.min(), y.min()) <= 0:
        return Interval(None, None, Note.NOT_POSITIVE)
    ends = _ends(np.log(x), np.log(y), seed)
    return Interval(ratio_of(ends[0]), ratio_of(ends[1])) if ends else _CONSTANT


_CONSTANT = Interval(None, None, Note.CONSTANT)


def _ends(x: Array, y: Array, seed: int) -> tuple[float, float] | None:
    """Of the difference of both medians; None where neither series varies."""
    from scipy import special  # noqa: PLC0415 - slow to import, seldom needed

    error, freedom = welch(*median_error(x, seed), *median_error(y, seed + 1))
    if error == 0:
        return None
    half = float(special.stdtrit(freedom, (1 + _LEVEL) / 2)) * error
    centre = float(np.median(x)) - float(np.median(y))
    return centre - half, centre + half
