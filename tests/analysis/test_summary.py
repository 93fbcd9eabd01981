from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.analysis.observations import observations, repeats
from culvert.analysis.summary import summarise

from .frames import rows

positive = st.floats(min_value=1e-3, max_value=1e12)


@settings(max_examples=40, deadline=None)
@given(st.lists(positive, min_size=1, max_size=12))
def test_figures_are_numpys(values: list[float]) -> None:
    row = summarise(rows({"x": values})).row(0, named=True)
    assert row["n"] == len(values)
    assert row["median"] == pytest.approx(np.median(values))
    assert row["mean"] == pytest.approx(np.mean(values))
    if len(values) > 1:
        assert row["sd"] == pytest.approx(np.std(values, ddof=1), abs=1e-6 * max(values))
        assert row["cv"] == pytest.approx(row["sd"] / row["mean"])
    else:
        assert row["sd"] is None
        assert row["cv"] is None


@settings(max_examples=20, deadline=None)
@given(st.lists(positive, min_size=5, max_size=8), st.integers(0, 99))
def test_the_order_of_rows_does_not_matter(values: list[float], seed: int) -> None:
    frame = rows({"x": values, "none": values[::-1]})
    shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
    assert summarise(frame).equals(summarise(shuffled))


@pytest.mark.parametrize("status", ["invalid", "failed", "unsupported"])
def test_only_ok_counts(status: str) -> None:
    good = rows({"x": [1, 2, 3]})
    bad = rows({"x": [1e9, 1e9, 1e9]}, status=status, first_trial=10)
    assert summarise(pl.concat([good, bad])).equals(summarise(good))


def test_no_trials_give_no_rows() -> None:
    assert summarise(rows({})).height == 0


def test_a_metric_at_zero_has_no_coefficient_of_variation() -> None:
    row = summarise(rows({"x": [0.0] * 6}, metric="loss_ratio")).row(0, named=True)
    assert row["cv"] is None
    assert row["low"] is None
    assert "same value" in row["note"]


def test_labels_keep_metrics_apart() -> None:
    a = rows({"x": [1, 1]}, labels='{"node":"a"}')
    b = rows({"x": [5, 5]}, labels='{"node":"b"}', first_trial=10)
    assert summarise(pl.concat([a, b]))["median"].sort().to_list() == [1, 5]


def test_repeats_within_a_trial_are_one_observation() -> None:
    parts = [
        rows({"x": [value]}, labels=json.dumps({"cycle": str(cycle)}))
        for cycle, value in enumerate([1.0, 2.0, 30.0])
    ]
    frame = pl.concat(parts)
    assert repeats(frame).height == 3
    assert observations(frame)["value"].to_list() == [2.0]
    assert summarise(frame)["n"].to_list() == [1]


def test_threads_are_not_summarised_because_their_ids_never_return() -> None:
    frame = rows({"x": [1, 2]}, metric="cpu_thread_s", labels='{"thread":"openvpn:123"}')
    assert summarise(frame).height == 0
