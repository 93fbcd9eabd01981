"""Connection initiation as dekker2020's table 4: mean, median and 99th percentile in ms."""

from __future__ import annotations

import polars as pl

from culvert.analysis.latency import ENOUGH_BEYOND
from culvert.analysis.observations import CELL, pick, repeats

TIMES = ("total_ms", "handshake_ms")


def initiation_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Every initiation of the ok trials, pooled per cell.

    Columns: CELL, metric (of TIMES), cycles, trials, mean, p50, p99, least and
    greatest. p99 is null with fewer than a thousand cycles: it would be the luck of a few.
    """
    found = pl.concat([pick(repeats(rows), metric) for metric in TIMES])
    enough = pl.len() * 0.01 >= ENOUGH_BEYOND - 1e-6
    value = pl.col("value")
    return (
        found.group_by([*CELL, "metric"])
        .agg(
            cycles=pl.len().cast(pl.Int64),
            trials=pl.col("trial").n_unique().cast(pl.Int64),
            mean=value.mean(),
            p50=value.median(),
            p99=pl.when(enough).then(value.quantile(0.99, "linear")),
            least=value.min(),
            greatest=value.max(),
        )
        .sort([*CELL, "metric"], descending=[False] * 4 + [True])
    )
