from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest

from culvert.analysis.column import Columns
from culvert.analysis.compare.comparison import (
    Comparison,
    absent,
    comparisons_in_run,
    comparisons_of_runs,
)
from culvert.analysis.compare.verdict import TOO_FEW, TOO_FEW_RUNS, Change
from culvert.analysis.observations import CONTEXT, METRIC, observations
from tests.analysis.frames import rows

RNG = np.random.default_rng(7)


def _values(mean: float, n: int = 12, sd: float = 0.01) -> list[float]:
    return list(mean * (1 + sd * RNG.standard_normal(n)))


def _found(
    a: Mapping[str, Sequence[float]], b: Mapping[str, Sequence[float]], **more: str
) -> dict[str, Comparison]:
    sides = [[observations(rows(side, **more))] for side in (a, b)]  # type: ignore[arg-type]
    return {one.vpn: one for one in comparisons_of_runs(*sides)}


def test_slower_faster_same_and_the_ratio() -> None:
    before = {"x": _values(100), "y": _values(100), "z": _values(100)}
    found = _found(before, {"x": _values(80), "y": _values(130), "z": _values(100)})
    words = {vpn: one.change for vpn, one in found.items()}
    assert words == {"x": Change.SLOWER, "y": Change.FASTER, "z": Change.SAME}
    assert found["x"].ratio == pytest.approx(0.8, rel=0.03)
    low, high = found["x"].low, found["x"].high
    assert low is not None
    assert high is not None
    assert low < 0.8 < high


def test_less_cpu_is_faster() -> None:
    found = _found({"x": _values(10)}, {"x": _values(8)}, metric="cpu_s_per_gb")
    assert found["x"].change is Change.FASTER


def test_figures_that_may_be_zero_are_compared_as_differences() -> None:
    zeros = [0.0] * 8
    some = [0.0, 0.3, 0.2, 0.3, 0.2, 0.3, 0.2, 0.3]
    found = _found({"x": zeros, "y": zeros}, {"x": zeros, "y": some}, metric="loss_ratio")
    assert found["x"].change is Change.SAME
    assert found["y"].change is Change.SLOWER
    assert found["y"].ratio is None


def test_the_baseline_is_a_control_and_a_family_of_its_own() -> None:
    found = _found(
        {"none": _values(100), "x": _values(100)}, {"none": _values(50), "x": _values(80)}
    )
    assert found["none"].control
    assert not found["x"].control
    assert found["x"].p_adjusted == found["x"].p_value


def test_drift_common_to_a_block_cancels_inside_a_run() -> None:
    drift = np.linspace(0.5, 2.0, 12)
    before, after = (list(drift * _values(mean)) for mean in (100, 90))
    a, b = (observations(rows({"x": side})) for side in (before, after))
    columns = Columns(observations(rows({"a": before, "b": after})))
    (paired,) = comparisons_in_run(a, b, columns.of, ("a", "b"))
    (unpaired,) = comparisons_of_runs([a], [b])
    assert (paired.change, unpaired.change) == (Change.SLOWER, Change.UNCLEAR)


def test_four_blocks_are_too_few() -> None:
    before, after = _values(100, 4), _values(50, 4)
    a, b = (observations(rows({"x": side})) for side in (before, after))
    columns = Columns(observations(rows({"a": before, "b": after})))
    (found,) = comparisons_in_run(a, b, columns.of, ("a", "b"))
    assert (found.change, found.why, found.more) == (Change.UNCLEAR, TOO_FEW, 1)


def test_of_two_vpns_of_a_run_the_column_states_how_many_more_blocks() -> None:
    rng = np.random.default_rng(3)
    series = {name: list(100 * np.exp(0.1 * rng.standard_normal(8))) for name in "abc"}
    series["b"] = [1.05 * value for value in series["a"][::-1]]
    observed = observations(rows(series))
    a, b = (observations(rows({"x": series[name]})) for name in "ab")
    columns = Columns(observed)
    (found,) = comparisons_in_run(a, b, columns.of, ("a", "b"))
    key = observed.select(*CONTEXT, *METRIC).row(0)
    decided = columns.of(key).between("a", "b")
    assert decided is not None
    assert found.change is Change.UNCLEAR
    assert found.more == decided.more


def _runs(mean: float, deviations: Sequence[float]) -> list[pl.DataFrame]:
    return [observations(rows({"x": _values(mean * (1 + one))})) for one in deviations]


def test_runs_repeat_a_side_where_there_are_several() -> None:
    alike = comparisons_of_runs(_runs(100, [0.0, 0.04, -0.04]), _runs(100, [0.04, 0.0, 0.05]))
    assert alike[0].change is Change.UNCLEAR
    assert (alike[0].runs_a, alike[0].runs_b) == (3, 3)
    (one,) = comparisons_of_runs(_runs(100, [-0.04]), _runs(100, [0.05]))
    assert one.change is Change.FASTER  # of one run a side, what runs differ by is not known
    (less,) = comparisons_of_runs(_runs(100, [0.0, 0.01, -0.01]), _runs(80, [0.0, 0.01, -0.01]))
    assert less.change is Change.SLOWER


def test_one_run_beside_several_is_enough_and_two_runs_are_not() -> None:
    (found,) = comparisons_of_runs(_runs(100, [0.0, 0.01, -0.01, 0.005]), _runs(70, [0.0]))
    assert found.change is Change.SLOWER
    lacking = observations(rows({"y": _values(1)}))
    (few,) = comparisons_of_runs([*_runs(100, [0.0]), lacking], _runs(70, [0.0]))
    assert (few.change, few.why) == (Change.UNCLEAR, TOO_FEW_RUNS)


def test_one_more_comparison_makes_each_harder() -> None:
    a = {f"v{i}": _values(100, 10, 0.05) for i in range(20)}
    b = {f"v{i}": _values(92 if i == 0 else 100, 10, 0.05) for i in range(20)}
    alone = _found({"v0": a["v0"]}, {"v0": b["v0"]})["v0"]
    among = _found(a, b)["v0"]
    assert alone.p_value == among.p_value
    assert alone.p_adjusted is not None
    assert among.p_adjusted is not None
    assert among.p_adjusted > alone.p_adjusted


def test_what_one_side_lacks_is_told_with_the_reason() -> None:
    a = rows({"x": [1.0], "y": [1.0]})
    b = pl.concat([rows({"x": [1.0]}), rows({"y": [None]}, status="failed")]).with_columns(
        reason=pl.when(pl.col("status") == "failed").then(pl.lit("it died"))
    )
    (one,) = absent(a, b)
    assert (one.vpn, one.side, one.why) == ("y", "B", "failed: it died")
    (other,) = absent(rows({"x": [1.0]}), a)
    assert (other.vpn, other.side, other.why) == ("y", "A", "it was not measured")
    assert absent(a, a) == []
