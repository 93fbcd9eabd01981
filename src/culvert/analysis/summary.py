"""Per cell and metric: number, location and spread of the trials, and whether they are independent,
steady and of one kind.

Intervals assume that they are. A cell in which they are not is reported, not dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from culvert.analysis.observations import CELL, METRIC, observations
from culvert.statistics.change_points import change_points
from culvert.statistics.intervals import Interval, mean_intervals, median_intervals
from culvert.statistics.looks import ONCE, Looks
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


def summarise(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per cell, metric and labels, over the trials that are ok, in the order of measuring.

    Columns: CELL, METRIC, n, median, mean, sd (n - 1), cv (sd / |mean|; null at mean 0 or n < 2),
    low and high (95 % order-statistic interval of the median, null with a reason in ``note``),
    mean_low and mean_high (Student's, of the mean), and those of ``behaviour``.
    """
    return summarise_observed(observations(rows))


def summarise_observed(observed: pl.DataFrame, *, looks: Looks = ONCE) -> pl.DataFrame:
    """``summarise`` from observations; ``looks`` are those of the rule that could end the run."""
    keys = [*CELL, *METRIC]
    mean = pl.col("mean")
    grouped = (
        observed.group_by(keys)
        .agg(
            n=pl.len().cast(pl.Int64),
            median=pl.col("value").median(),
            mean=pl.col("value").mean(),
            sd=pl.col("value").std(),
            values=pl.col("value"),
        )
        .with_columns(cv=pl.when(mean != 0).then(pl.col("sd") / mean.abs()))
        .sort(keys)
    )
    values = grouped["values"].to_list()
    means = mean_intervals(values, looks)
    return (
        with_intervals(grouped, looks)
        .with_columns(
            pl.Series("mean_low", [interval.low for interval in means], pl.Float64),
            pl.Series("mean_high", [interval.high for interval in means], pl.Float64),
        )
        .with_columns(*behaviour(values).get_columns())
    )


def with_intervals(frame: pl.DataFrame, looks: Looks) -> pl.DataFrame:
    """Replace the list column ``values`` by ``low``, ``high`` and ``note`` of its median."""
    intervals = median_intervals(frame["values"].to_list(), looks)
    return frame.drop("values").with_columns(*interval_columns(intervals))


def interval_columns(intervals: list[Interval]) -> list[pl.Series]:
    """Intervals as the columns low, high, note."""
    return [
        pl.Series("low", [interval.low for interval in intervals], pl.Float64),
        pl.Series("high", [interval.high for interval in intervals], pl.Float64),
        pl.Series("note", [interval.note.value for interval in intervals], pl.String),
    ]
