"""The ratio of the medians of two independent series, correlated or not."""

from __future__ import annotations

import math

import numpy as np

from culvert.statistics.intervals import FEWEST, Interval, Note
from culvert.statistics.median_error import median_error, welch
from culvert.statistics.values import Array, Values, array


def ratio_of_medians(a: Values, b: Values, level: float = 0.95, seed: int = 0) -> Interval:
    """The interval of median(a) / median(b); both positive, else no interval.

    On the logarithms: the standard errors of both medians by the bootstrap, each widened by what
    correlation leaves of its trials (``effective_sample_size``), and Student's t with the degrees
    of freedom of Welch and Satterthwaite. Fewer than 5 trials in either: no interval.
    """
    from scipy import stats  # noqa: PLC0415 - slow to import, seldom needed

    x, y = array(a), array(b)
    if min(x.size, y.size) < FEWEST:
        return Interval(None, None, Note.TOO_FEW)
    if min(x.min(), y.min()) <= 0:
        return Interval(None, None, Note.NOT_POSITIVE)
    centre_a, error_a, freedom_a = _log_median(x, seed)
    centre_b, error_b, freedom_b = _log_median(y, seed + 1)
    error, freedom = welch(error_a, freedom_a, error_b, freedom_b)
    if error == 0:
        return Interval(None, None, Note.CONSTANT)
    half = float(stats.t.ppf((1 + level) / 2, freedom)) * error
    centre = centre_a - centre_b
    return Interval(math.exp(centre - half), math.exp(centre + half))


def _log_median(values: Array, seed: int) -> tuple[float, float, float]:
    """The middle of the logarithms, its standard error and degrees of freedom."""
    logs = np.log(values)
    return float(np.median(logs)), *median_error(logs, seed)
