"""Connection initiation as table 4 of dekker2020: mean, median and 99th percentile in ms."""

from __future__ import annotations

import polars as pl

from culvert.analysis.latency import ENOUGH_BEYOND
from culvert.analysis.observations import CELL, repeats

TIMES = ("total_ms", "handshake_ms", "first_handshake_ms", "last_handshake_ms", "first_inner_ms")


def cycles(rows: pl.DataFrame, trials: pl.DataFrame, series: pl.DataFrame) -> pl.DataFrame:
    """Every single initiation of the ok trials: CELL, metric (of TIMES), block, trial, value in ms.

    From a trial's series; without a series, from its metrics, one value per trial.
    """
    keys = [*CELL, "metric", "block", "trial"]
    recorded = (
        repeats(rows)
        .filter(pl.col("metric").is_in(TIMES), measurement="initiation", labels="{}")
        .select(*keys, "value")
    )
    kept = series.filter(pl.col("name").is_in(list(TIMES)))
    counted = trials.filter(pl.col("status") == "ok", pl.col("measurement") == "initiation")
    single = (
        kept.select("trial", "name", "value")
        .explode("value")
        .join(counted.select("trial", *CELL, "block"), on="trial", how="inner")
        .select(
            *CELL,
            pl.col("name").alias("metric"),
            "block",
            "trial",
            pl.col("value").cast(pl.Float64),
        )
        .drop_nulls("value")
    )
    alone = recorded.join(single, on=["trial", "metric"], how="anti")
    return pl.concat([single, alone]).sort(*keys, "value")


def initiation_table(single: pl.DataFrame) -> pl.DataFrame:
    """Every initiation, as ``cycles`` gives them, pooled per cell.

    Columns: CELL, metric (of TIMES), cycles, trials, mean, p50, p99, least and greatest, all in
    ms. p99 is null with fewer than a thousand cycles, because few values would decide it.
    """
    enough = pl.len() * 0.01 >= ENOUGH_BEYOND - 1e-6
    value = pl.col("value")
    return (
        single.group_by([*CELL, "metric"])
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
