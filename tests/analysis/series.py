"""Series that no machine made."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def correlated(
    rng: np.random.Generator, count: int, length: int, rho: float
) -> NDArray[np.float64]:
    """``count`` stationary AR(1) series of that length, standard normal, lag-1 correlation rho."""
    noise = rng.standard_normal((count, length))
    series = np.empty_like(noise)
    series[:, 0] = noise[:, 0]
    for step in range(1, length):
        series[:, step] = rho * series[:, step - 1] + np.sqrt(1 - rho**2) * noise[:, step]
    return series
