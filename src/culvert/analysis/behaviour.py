"""Whether the trials of a cell are independent, steady and of one kind.

Intervals assume that they are. A cell in which they are not is reported, not dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from culvert.statistics.change_points import change_points
from culvert.statistics.outliers import flagged
from culvert.statistics.serial import effective_sample_size, lag1, lag1_p_value
from culvert.statistics.trend import mann_kendall

ALPHA = 0.01
"""The false alarm rate of each of correlation, drift and jump, per cell."""

COLUMNS: dict[str, type[pl.DataType]] = {
    "effective_n": pl.Float64,
    "lag1": pl.Float64,
    "correlated": pl.Boolean,
    "tau": pl.Float64,
    "drift_p": pl.Float64,
    "drifts": pl.Boolean,
    "jumps": pl.String,
    "outliers": pl.Int64,
}


def behaviour(series: Sequence[Sequence[float]]) -> pl.DataFrame:
    """One row per series, each in the order of measuring.

    Columns: effective_n (effective sample size), lag1, correlated, tau and drift_p (Mann-Kendall),
    drifts, jumps (numbers from 1 of the trials that start a new level, separated by blanks),
    outliers (how many are flagged).
    """
    found: list[tuple[object, ...]] = [_one(np.asarray(values)) for values in series]
    return pl.DataFrame(found, schema=COLUMNS, orient="row")


def _one(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[object, ...]:
    p_value = lag1_p_value(values)
    trend = mann_kendall(values)
    return (
        effective_sample_size(values),
        lag1(values),
        p_value is not None and p_value < ALPHA,
        trend.tau,
        trend.p_value,
        trend.p_value < ALPHA,
        " ".join(str(place + 1) for place in change_points(values)),
        sum(flagged(values)),
    )
