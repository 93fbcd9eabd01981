"""Outliers. They are flagged and never dropped."""

from __future__ import annotations

import numpy as np

from culvert.statistics.values import Values, array

LIMIT = 3.5
FEWEST = 5
"""With four values or fewer no outlier can be identified."""


def flagged(values: Values) -> list[bool]:
    """Whether each value's modified z score exceeds 3.5, in the order given.

    0.6745 (x - median) / MAD; where more than half of the values are equal, the mean absolute
    deviation times 1.2533 instead of MAD / 0.6745 (Iglewicz and Hoaglin, "How to Detect and Handle
    Outliers", 1993).
    """
    sample = array(values)
    if sample.size < FEWEST:
        return [False] * sample.size
    away = np.abs(sample - np.median(sample))
    scale = float(np.median(away)) / 0.6745 or float(away.mean()) * 1.2533
    return [bool(one) for one in away > LIMIT * scale] if scale else [False] * sample.size
