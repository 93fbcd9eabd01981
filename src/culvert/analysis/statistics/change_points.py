"""Where a series jumps to another level."""

from __future__ import annotations

import math

import numpy as np

from culvert.analysis.statistics.serial import inflation
from culvert.analysis.statistics.values import Array, Values, array

ALPHA = 0.01
"""How often a steady series is split."""

SHORTEST = 5
"""Values on either side of a jump: fewer are outliers, not a level."""


def change_points(values: Values) -> list[int]:
    """Indices, from 0, of the first value of each new level.

    Binary segmentation (Vostrikova, Soviet Mathematics Doklady 24, 1981): split where the
    cumulative sum of the ranks is farthest from that of a steady series, while that distance is
    significant, and go on within both parts. On the ranks an outlier is no jump. The distance is
    divided by the spread about the two levels, which correlation widens (``inflation``), so that a
    wandering series is not cut to pieces; its distribution is that of a Brownian bridge
    (Kolmogorov's).
    """
    found: list[int] = []
    open_ = [(0, array(values))]
    while open_:
        begin, part = open_.pop()
        split = _split(part)
        if split is not None:
            found.append(begin + split)
            open_ += [(begin, part[:split]), (begin + split, part[split:])]
    return sorted(found)


def _split(sample: Array) -> int | None:
    from scipy import stats  # noqa: PLC0415 - slow to import, seldom needed

    n = sample.size
    if n < 2 * SHORTEST or np.ptp(sample) == 0:
        return None
    ranks = stats.rankdata(sample) - (n + 1) / 2
    sums = np.abs(np.cumsum(ranks))[SHORTEST - 1 : n - SHORTEST]
    split = int(sums.argmax()) + SHORTEST
    about = np.concatenate([part - part.mean() for part in (ranks[:split], ranks[split:])])
    spread = math.sqrt(float((about**2).sum()) / (n - 2))
    if spread == 0:
        return split
    # Two levels, and the place between them.
    distance = float(sums.max()) / (spread * math.sqrt(n * inflation(about, 3)))
    return split if stats.kstwobign.sf(distance) < ALPHA else None
