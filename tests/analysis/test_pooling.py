from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

from culvert.analysis.pooling import SCHEMA, pooling, single_values
from culvert.journal.frames import SERIES_SCHEMA

from .frames import TRIALS, rows

NO_TRIALS = pl.DataFrame(schema=TRIALS)
NO_SERIES = pl.DataFrame(schema=SERIES_SCHEMA)


def cycles(values: dict[str, np.ndarray]) -> pl.DataFrame:
    """VPN -> (trials, cycles) as metrics whose labels number the cycles."""
    many = next(iter(values.values())).shape[1]
    return pl.concat(
        rows(
            {vpn: found[:, cycle].tolist() for vpn, found in values.items()},
            metric="total_ms",
            labels=json.dumps({"cycle": cycle}),
        )
        for cycle in range(many)
    )


def noisy(trials: int, within: int, between: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return 100 + between * rng.normal(size=(trials, 1)) + rng.normal(size=(trials, within))


def test_trials_that_differ_are_worth_no_more_than_their_number() -> None:
    values = noisy(12, 50, between=5, seed=1)
    (row,) = pooling(single_values(cycles({"x": values}), NO_TRIALS, NO_SERIES)).to_dicts()
    assert (row["trials"], row["pooled_n"]) == (12, 600)
    interval = stats.ttest_1samp(values.mean(axis=1), 0).confidence_interval()
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))
    pooled = stats.ttest_1samp(values.ravel(), 0).confidence_interval()
    assert (row["pooled_low"], row["pooled_high"]) == pytest.approx((pooled.low, pooled.high))
    assert row["design_effect"] > 20
    assert row["effective_n"] < 40
    assert row["p"] is None


def test_where_trials_do_not_differ_pooling_claims_little_too_much() -> None:
    effects = [
        pooling(single_values(cycles({"x": noisy(10, 20, 0, seed)}), NO_TRIALS, NO_SERIES))
        for seed in range(30)
    ]
    found = pl.concat(effects)
    assert found["design_effect"].mean() == pytest.approx(1, abs=0.25)
    assert found.select((pl.col("effective_n") <= pl.col("pooled_n")).all()).item()


def test_equals_are_told_apart_by_pooling_far_too_often_and_seldom_by_trials() -> None:
    honest = pooled = 0
    for seed in range(60):
        values = {"none": noisy(8, 40, 2, 2 * seed), "x": noisy(8, 40, 2, 2 * seed + 1)}
        found = pooling(single_values(cycles(values), NO_TRIALS, NO_SERIES))
        row = found.row(by_predicate=pl.col("vpn") == "x", named=True)
        honest += row["p"] < 0.05
        pooled += row["pooled_p"] < 0.05
    assert honest / 60 <= 0.15
    assert pooled / 60 >= 0.4


def test_series_of_trials_that_count_are_repetitions_too() -> None:
    trials = pl.DataFrame(
        {
            "trial": [1, 2, 3, 4],
            "block": [1, 2, 3, 0],
            "vpn": "x",
            "condition": "clean",
            "measurement": "api",
            "parameters": "{}",
            "status": ["ok", "ok", "failed", "ok"],
        }
    )
    series = pl.DataFrame(
        {
            "trial": [1, 2, 3, 4],
            "name": "response_s",
            "unit": "s",
            "labels": "{}",
            "value": [[1.0, 2.0], [3.0, 4.0, 5.0], [9.0, 9.0], [9.0, 9.0]],
        }
    )
    single = single_values(rows({}), trials, series)
    assert single["value"].to_list() == [1, 2, 3, 4, 5]
    (row,) = pooling(single).to_dicts()
    assert (row["metric"], row["trials"], row["pooled_n"]) == ("response_s", 2, 5)
    assert row["mean"] == pytest.approx((1.5 + 4) / 2)


def test_without_repetitions_there_is_nothing_to_pool() -> None:
    single = single_values(rows({"x": [1, 2, 3]}), NO_TRIALS, NO_SERIES)
    assert single.is_empty()
    assert pooling(single).schema == SCHEMA
