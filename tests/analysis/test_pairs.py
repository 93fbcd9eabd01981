from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.analysis.column import Columns
from culvert.analysis.observations import observations
from culvert.analysis.pairs import paired
from culvert.metrics import Effect

from .frames import rows

positive = st.floats(min_value=1e-3, max_value=1e9)


def effect(values: dict[str, list[float | None]], kind: Effect) -> dict[str, dict[str, object]]:
    observed = observations(rows(values))
    frame = paired(observed, kind, Columns(observed))
    return {str(row["vpn"]): row for row in frame.iter_rows(named=True)}


@settings(max_examples=30, deadline=None)
@given(st.lists(positive, min_size=1, max_size=9))
def test_identical_data_have_ratio_one_and_are_not_told_apart(values: list[float]) -> None:
    found = effect({"none": list(values), "x": list(values)}, Effect.RATIO)["x"]
    assert found["estimate"] == 1.0
    assert found["low"] is None
    assert found["distinguishable"] is False


@settings(max_examples=30, deadline=None)
@given(st.lists(positive, min_size=5, max_size=9), st.floats(1.1, 50))
def test_a_constant_factor_is_found_whatever_the_block_does(
    weather: list[float], factor: float
) -> None:
    found = effect(
        {"none": list(weather), "x": [factor * value for value in weather]}, Effect.RATIO
    )["x"]
    assert found["estimate"] == pytest.approx(factor)


def test_pairing_is_by_block() -> None:
    # The blocks' weather is worth a factor of 100; the VPN costs half in each.
    weather = [1.0, 100.0, 3.0, 50.0, 7.0, 20.0]
    share = [0.48, 0.5, 0.51, 0.49, 0.505, 0.5]
    halves = [w * s for w, s in zip(weather, share, strict=True)]
    found = effect({"none": weather, "x": halves}, Effect.RATIO)["x"]  # type: ignore[dict-item]
    assert found["estimate"] == pytest.approx(0.497, abs=0.001)
    assert found["distinguishable"] is True
    assert found["n"] == 6


def test_blocks_that_miss_one_of_the_two_are_left_out() -> None:
    found = effect({"none": [1, 2, None, 4], "x": [2, None, 6, 8]}, Effect.RATIO)["x"]
    assert found["n"] == 2
    assert found["estimate"] == pytest.approx(2.0)


def test_a_baseline_of_zero_has_no_ratio_but_a_difference() -> None:
    values: dict[str, list[float | None]] = {"none": [0, 0, 0], "x": [1, 2, 3]}
    assert effect(values, Effect.RATIO) == {}
    assert effect(values, Effect.DIFFERENCE)["x"]["estimate"] == 2


def test_without_a_baseline_there_is_nothing_to_compare() -> None:
    assert effect({"x": [1, 2, 3], "y": [1, 2, 3]}, Effect.RATIO) == {}


def test_cells_are_compared_with_their_own_baseline() -> None:
    small = rows({"none": [10.0], "x": [5.0]}, parameters='{"packet_size":64}')
    large = rows({"none": [100.0], "x": [90.0]}, parameters='{"packet_size":"max"}', first_trial=9)
    observed = observations(pl.concat([small, large]))
    frame = paired(observed, Effect.RATIO, Columns(observed))
    assert sorted(frame["estimate"].to_list()) == pytest.approx([0.5, 0.9])


def test_equal_vpns_are_seldom_told_apart_and_unequal_ones_nearly_always() -> None:
    rng = np.random.default_rng(4)
    alarms = hits = 0
    rounds = 150
    for _ in range(rounds):
        weather = rng.lognormal(0, 0.3, 8)
        base, same = (weather * rng.normal(1, 0.02, 8) for _ in range(2))
        other = weather * rng.normal(0.9, 0.02, 8)
        found = effect(
            {"none": base.tolist(), "same": same.tolist(), "other": other.tolist()}, Effect.RATIO
        )
        alarms += bool(found["same"]["distinguishable"])
        hits += bool(found["other"]["distinguishable"])
    assert alarms / rounds <= 0.05 + 3 * (0.05 * 0.95 / rounds) ** 0.5
    assert hits / rounds >= 0.9
