"""Series whose truth is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def correlated(phi: float, n: int, many: int, *, seed: int) -> Array:
    """``many`` series of n: x[t] = phi x[t-1] + e, mean 0, standard deviation 1."""
    rng = np.random.default_rng(seed)
    found = np.empty((many, n))
    found[:, 0] = rng.normal(size=many)
    for t in range(1, n):
        found[:, t] = phi * found[:, t - 1] + np.sqrt(1 - phi**2) * rng.normal(size=many)
    return found
