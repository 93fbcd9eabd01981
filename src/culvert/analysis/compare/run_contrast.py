"""Several runs per side: each run is one repetition, with the mean of its trials as its value.

Runs differ by more than the trials of one run. If a side has several runs, their differences show
by how much: Student's t test of the runs' means, with one
variance for both sides, so that a single run on one side is enough where the other has two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from culvert.analysis.compare.contrast import Contrast
from culvert.statistics.values import Values, array, spread

FEWEST_RUNS = 3
"""Runs of both sides together: with one run each, the scatter of runs is unknown."""


def run_contrast(before: Sequence[Values], after: Sequence[Values]) -> Contrast | None:
    """mean(after) - mean(before) of the runs' means; None with too few runs.

    Each series has the values of a cell in one run; none is empty.
    """
    if not before or not after or len(before) + len(after) < FEWEST_RUNS:
        return None
    old, new = (np.array([float(array(run).mean()) for run in side]) for side in (before, after))
    df = old.size + new.size - 2
    squares = sum((side.size - 1) * spread(side) ** 2 for side in (old, new))
    few = min(old.size, new.size)
    return Contrast(
        estimate=float(new.mean() - old.mean()),
        se=math.sqrt(squares / df * (1 / old.size + 1 / new.size)),
        df=float(df),
        n=few,
        effective=float(few),
        paired=False,
    )
