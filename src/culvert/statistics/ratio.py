"""The ratio and the difference of the medians of two independent series, correlated or not."""

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
    x, y = array(a), array(b)
    if min(x.size, y.size) < FEWEST:
        return Interval(None, None, Note.TOO_FEW)
    if min(x.min(), y.min()) <= 0:
        return Interval(None, None, Note.NOT_POSITIVE)
    ends = _ends(np.log(x), np.log(y), level, seed)
    return Interval(math.exp(ends[0]), math.exp(ends[1])) if ends else _CONSTANT


def difference_of_medians(a: Values, b: Values, level: float = 0.95, seed: int = 0) -> Interval:
    """The interval of median(a) - median(b), as ``ratio_of_medians`` has that of the ratio."""
    x, y = array(a), array(b)
    if min(x.size, y.size) < FEWEST:
        return Interval(None, None, Note.TOO_FEW)
    ends = _ends(x, y, level, seed)
    return Interval(*ends) if ends else _CONSTANT


_CONSTANT = Interval(None, None, Note.CONSTANT)


def _ends(x: Array, y: Array, level: float, seed: int) -> tuple[float, float] | None:
    """Of the difference of both medians; None where neither series varies."""
    from scipy import special  # noqa: PLC0415 - slow to import, seldom needed

    error, freedom = welch(*median_error(x, seed), *median_error(y, seed + 1))
    if error == 0:
        return None
    half = float(special.stdtrit(freedom, (1 + level) / 2)) * error
    centre = float(np.median(x)) - float(np.median(y))
    return centre - half, centre + half
