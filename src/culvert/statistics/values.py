"""The input of every statistic: a series of finite numbers, in the order of measuring."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Values = Sequence[float] | Array


def array(values: Values) -> Array:
    """The values as an array. Raises ValueError unless it is a flat series of finite numbers."""
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise ValueError("a series is one row of finite numbers")
    return found


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
