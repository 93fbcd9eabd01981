"""A mean of differences at equal covariates (analysis of covariance)."""

from __future__ import annotations

import math

import numpy as np

from culvert.statistics.serial import FEWEST
from culvert.statistics.values import Array

_NOTHING = 1e-12
"""A spread below this is that of rounding."""


def varies(covariate: Array | None) -> bool:
    """Whether it can explain something: enough values that are not all the same."""
    return (
        covariate is not None and covariate.size >= FEWEST and float(np.ptp(covariate)) > _NOTHING
    )


def adjusted_mean(differences: Array, covariate: Array | None) -> tuple[float, float, float]:
    """Mean, standard error and degrees of freedom of at least two differences.

    ``covariate`` has the same differences of what the change does not affect; the mean is that
    where it is 0. One that does not vary is left out.
    """
    n = differences.size
    mean = float(differences.mean())
    about = differences - mean
    if np.ptp(differences) <= _NOTHING * max(1.0, float(np.abs(differences).max())):
        return mean, 0.0, n - 1.0
    if covariate is None or not varies(covariate):
        return mean, float(np.sqrt(about @ about / (n - 1) / n)), n - 1.0
    middle = float(covariate.mean())
    beside = covariate - middle
    spread = float(beside @ beside)
    slope = float(beside @ about) / spread
    rest = about - slope * beside
    variance = float(rest @ rest) / (n - 2) * (1 / n + middle**2 / spread)
    return mean - slope * middle, math.sqrt(variance), n - 2.0
