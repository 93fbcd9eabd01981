"""Location and spread of a series."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from culvert.statistics.values import Values, array, spread


@dataclass(frozen=True)
class Description:
    """In the unit of the values. ``sd`` is with n - 1; ``cv`` is sd / |mean|, None at mean 0."""

    n: int
    median: float
    mean: float
    sd: float | None
    cv: float | None


def describe(values: Values) -> Description:
    """Number, mean, median, deviation and range. Raises ValueError for an empty series."""
    sample = array(values)
    if not sample.size:
        raise ValueError("nothing to describe")
    mean = float(sample.mean())
    sd = spread(sample) if sample.size > 1 else None
    cv = None if sd is None or mean == 0 else sd / abs(mean)
    return Description(sample.size, float(np.median(sample)), mean, sd, cv)
