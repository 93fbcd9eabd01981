from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from culvert.analysis.column import Columns
from culvert.analysis.comparisons import SCHEMA, comparisons
from culvert.analysis.observations import observations

from .frames import rows


def compared(frame: pl.DataFrame) -> pl.DataFrame:
    observed = observations(frame)
    return comparisons(observed, Columns(observed))


def test_every_pair_once_with_the_tests_of_scipy() -> None:
    rng = np.random.default_rng(1)
    means = {"a": 0.0, "b": 0.5, "c": 9.0}
    values = {name: rng.normal(mean, 1, 9).tolist() for name, mean in means.items()}
    found = compared(rows(values))
    assert found.schema == SCHEMA
    assert found.select("a", "b").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    for row in found.iter_rows(named=True):
        truth = stats.mannwhitneyu(values[row["a"]], values[row["b"]])
        assert row["p"] == pytest.approx(truth.pvalue)
        assert row["u"] == truth.statistic
        middle = np.median(np.subtract.outer(values[row["a"]], values[row["b"]]))
        assert row["shift"] == pytest.approx(middle)
        assert row["p"] <= row["p_holm"] <= 3 * row["p"]
    assert found["differ"].to_list() == [False, True, True]
    assert found["cliffs_delta"][1] == -1


def test_metrics_and_contexts_are_families_of_their_own() -> None:
    few: dict[str, list[float | None]] = {"a": [1, 2, 3, 4, 5], "b": [6, 7, 8, 9, 10]}
    one = rows(few)
    other = rows(few, metric="cpu_s_per_gb", first_trial=100)
    found = compared(pl.concat([one, other]))
    assert found["p_holm"].to_list() == found["p"].to_list()
    assert len(found) == 2


def test_labels_and_single_trials_are_left_out() -> None:
    assert compared(rows({"a": [1.0], "b": [2.0]})).is_empty()
    labelled = rows({"a": [1, 2, 3], "b": [2, 3, 4]}, labels='{"node":"a"}')
    assert compared(labelled).is_empty()
    assert compared(rows({})).schema == SCHEMA
