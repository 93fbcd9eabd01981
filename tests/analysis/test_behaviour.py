from __future__ import annotations

import numpy as np

from culvert.analysis.summary import COLUMNS, behaviour, summarise
from tests.statistics.noise import correlated

from .frames import rows


def test_each_fault_is_told_as_what_it_is() -> None:
    calm = np.random.default_rng(2).uniform(98, 102, 40)
    wandering = 100 + correlated(0.8, 200, 1, seed=2)[0]
    jumping = calm + np.repeat([0, 9], 20)
    drifting = calm + np.linspace(0, 9, 40)
    odd = calm.copy()
    odd[7] = 900
    found = behaviour([one.tolist() for one in (calm, wandering, jumping, drifting, odd)])
    assert list(found.columns) == list(COLUMNS)
    quiet, wanders, jumps, drifts, stands_apart = found.iter_rows(named=True)
    assert (quiet["correlated"], quiet["drifts"], quiet["jumps"]) == (False, False, "")
    assert wanders["correlated"]
    assert wanders["effective_n"] < 60
    assert jumps["jumps"] == "21"
    assert drifts["drifts"]
    assert drifts["tau"] > 0.5
    assert (stands_apart["outliers"], stands_apart["correlated"]) == (1, False)


def test_the_summary_takes_trials_in_the_order_of_blocks() -> None:
    series: list[float | None] = [*map(float, range(20))]
    frame = rows({"x": series})
    row = summarise(frame.sample(fraction=1, shuffle=True, seed=3)).row(0, named=True)
    assert row["tau"] > 0.999
    assert row["drifts"]
    assert row["mean_low"] < row["mean"] < row["mean_high"]


def test_too_little_is_told_nothing_of() -> None:
    row = behaviour([[1.0, 2.0]]).row(0, named=True)
    assert row["effective_n"] == 2
    assert row["lag1"] is None
    assert not row["correlated"]
    assert not row["drifts"]
