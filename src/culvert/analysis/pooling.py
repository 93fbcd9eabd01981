"""Repetitions inside a trial, analysed by trial and pooled.

Requests or cold starts of one trial share its tunnel, its hour and its caches: they are not
independent. The trial is the unit; the result of pooling is shown next to it.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from culvert.analysis.observations import CELL, CONTEXT, repeats
from culvert.statistics.mann_whitney import mann_whitney
from culvert.statistics.values import Array, spread
from culvert.study.vpn_id import BASELINE

LEVEL = 0.95

REPEATED = frozenset({"total_ms", "handshake_ms", "response_s", "interval_bps"})
"""Series with one value per repetition: cold starts, imported requests and intervals."""

_KEYS = (*CELL, "metric", "unit")
_SINGLE = (*_KEYS, "block", "trial", "value")

SCHEMA: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(_KEYS, pl.String),
    "trials": pl.Int64,
    "mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "pooled_n": pl.Int64,
    "pooled_mean": pl.Float64,
    "pooled_low": pl.Float64,
    "pooled_high": pl.Float64,
    "design_effect": pl.Float64,
    "effective_n": pl.Float64,
    "p": pl.Float64,
    "pooled_p": pl.Float64,
}


def single_values(rows: pl.DataFrame, trials: pl.DataFrame, series: pl.DataFrame) -> pl.DataFrame:
    """Every value of the trials that are ok and hold more than one of a metric.

    From metrics whose labels number repetitions, and from the series REPEATED. Columns: CELL,
    metric, unit, block, trial, value.
    """
    measured = repeats(rows).filter(pl.col("labels") == "{}").select(_SINGLE)
    parts = [measured.filter(pl.len().over(*_KEYS, "trial") > 1)]
    lists = series.filter(pl.col("name").is_in(sorted(REPEATED)), pl.col("labels") == "{}")
    counted = trials.filter(pl.col("status") == "ok", pl.col("block") > 0)
    parts.append(
        lists.join(counted.select("trial", "block", *CELL), on="trial", how="inner")
        .rename({"name": "metric"})
        .select(_SINGLE)  # any other list would be repeated for each value
        .explode("value")
        .drop_nulls("value")
        .filter(pl.len().over(*_KEYS, "trial") > 1)
    )
    return pl.concat(parts)


def pooling(single: pl.DataFrame) -> pl.DataFrame:
    """One row per cell and metric of ``single_values`` with at least two trials.

    Columns: CELL, metric, unit, trials; mean with low and high (95 %, Student's t over the trials'
    means); pooled_n, pooled_mean, pooled_low and pooled_high (the same over all values, as if they
    were independent); design_effect (Kish, "Survey Sampling", 1965: the variance of the mean over
    that which pooling assumes; below 1 if by chance the trials differ less than their values) and
    effective_n (pooled_n / design_effect, at most pooled_n: the effective sample size);
    p and pooled_p (Mann-Whitney against the baseline of the same context, over the trials' means
    and over all values; null for the baseline and without one).
    """
    by_trial = (
        single.sort(_SINGLE)
        .group_by([*_KEYS, "trial"], maintain_order=True)
        .agg(pl.col("value"), mean=pl.col("value").mean())
    )
    cells: dict[tuple[str, ...], tuple[Array, Array]] = {}
    for key, part in by_trial.group_by(_KEYS, maintain_order=True):
        cells[key] = (
            part["mean"].to_numpy(),
            part["value"].explode().to_numpy(),
        )
    found = []
    for key, (means, values) in cells.items():
        if means.size < 2:
            continue
        named = dict(zip(_KEYS, key, strict=True))
        baseline = cells.get((BASELINE, *(named[name] for name in (*CONTEXT, "metric", "unit"))))
        compared: tuple[float | None, float | None] = (None, None)
        if baseline is not None and named["vpn"] != BASELINE and baseline[0].size > 1:
            compared = (
                mann_whitney(means, baseline[0]).p_value,
                mann_whitney(values, baseline[1]).p_value,
            )
        found.append((*key, *_beside(means, values), *compared))
    return pl.DataFrame(found, schema=SCHEMA, orient="row").sort(_KEYS)


def _beside(means: Array, values: Array) -> tuple[object, ...]:
    error, pooled_error = (spread(one) / math.sqrt(one.size) for one in (means, values))
    effect = (error / pooled_error) ** 2 if pooled_error else None
    effective_n = None if effect is None else values.size / max(1.0, effect)
    mean, pooled = float(np.mean(means)), float(np.mean(values))
    half, pooled_half = _half(error, means.size), _half(pooled_error, values.size)
    return (
        *(means.size, mean, mean - half, mean + half),
        *(values.size, pooled, pooled - pooled_half, pooled + pooled_half),
        *(effect, effective_n),
    )


def _half(error: float, n: int) -> float:
    """Half the width of Student's interval of a mean."""
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import, seldom needed

    return float(stdtrit(n - 1, (1 + LEVEL) / 2)) * error
