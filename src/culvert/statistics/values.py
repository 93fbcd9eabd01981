"""Series as arrays, their location and their spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Values = Sequence[float] | Array
_FAR = 500.0
"""What is computed from the exponential of a larger number would overflow a float."""


def array(values: Values) -> Array:
    """The values as an array. Raises ValueError unless it is a flat series of finite numbers."""
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise ValueError("a series is one row of finite numbers")
    return found


def ratio_of(logarithm: float) -> float:
    """The ratio of a difference of logarithms, finite even for an infinite interval."""
    return math.exp(min(max(logarithm, -_FAR), _FAR))


def ranks(values: Array) -> Array:
    """Ranks from 1, equal values sharing theirs: ``scipy.stats.rankdata``, ten times faster."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[places])


def spread(values: Array) -> float:
    """The standard deviation with n - 1, without overflow or rounding noise; 0 if all are equal."""
    if values.size < 2 or np.ptp(values) == 0:
        return 0.0
    scale = float(np.abs(values).max())
    return float(np.std(values / scale, ddof=1)) * scale


@dataclass(frozen=True)
class Description:
    """In the unit of the values. ``sd`` is with n - 1; ``cv`` is sd / |mean|, None at mean 0."""

    n: int
    median: float
    mean: float
    sd: float | None
    cv: float | None


def describe(values: Values) -> Description:
    """Of a series, which is not empty."""
    sample = array(values)
    mean = float(sample.mean())
    sd = spread(sample) if sample.size > 1 else None
    cv = None if sd is None or mean == 0 else sd / abs(mean)
    return Description(sample.size, float(np.median(sample)), mean, sd, cv)
