"""Per cell and metric: how many trials, where their middle is, how far they spread."""

from __future__ import annotations

import polars as pl

from culvert.analysis.intervals import Interval, median_intervals
from culvert.analysis.observations import CELL, METRIC, observations


def summarise(rows: pl.DataFrame, *, seed: int = 0) -> pl.DataFrame:
    """One row per cell, metric and labels, over the trials that are ok.

    Columns: CELL, METRIC, n, median, mean, sd (n - 1), cv (sd / mean; null at mean 0 or n < 2),
    low and high (95 % BCa interval of the median, null with a reason in ``note``).
    """
    keys = [*CELL, *METRIC]
    mean = pl.col("mean")
    grouped = (
        observations(rows)
        .group_by(keys)
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
    return with_intervals(grouped, seed=seed)


def with_intervals(frame: pl.DataFrame, *, seed: int) -> pl.DataFrame:
    """Replace the list column ``values`` by ``low``, ``high`` and ``note`` of its median."""
    intervals = median_intervals(frame["values"].to_list(), seed=seed)
    return frame.drop("values").with_columns(*interval_columns(intervals))


def interval_columns(intervals: list[Interval]) -> list[pl.Series]:
    """Intervals as the columns low, high, note."""
    return [
        pl.Series("low", [interval.low for interval in intervals], pl.Float64),
        pl.Series("high", [interval.high for interval in intervals], pl.Float64),
        pl.Series("note", [interval.note.value for interval in intervals], pl.String),
    ]
