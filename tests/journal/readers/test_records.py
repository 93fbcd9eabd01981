from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from culvert.errors import JournalError
from culvert.journal.journal import Journal
from culvert.journal.readers.foreign_run import ForeignRun
from culvert.journal.readers.records import UNKNOWN_TIME, in_order, trial_records
from culvert.results import Metric
from tests.journal.dummies import HEAD

WHEN = datetime(2024, 1, 1, tzinfo=UTC)


def run(name: str, condition: str, value: float) -> ForeignRun:
    metrics = [Metric("goodput_bps", "bit/s", value)]
    return ForeignRun("f", 1, "tcp", name, condition, {"b": 1, "a": 2}, metrics=metrics)


def test_the_nth_run_of_a_cell_is_in_block_n() -> None:
    runs = [run("x", "loss-10", 1), run("x", "loss-10", 2), run("y", "", 3), run("x", "clean", 4)]
    trials = trial_records(runs, {"x": "vx", "y": "vy"}, "")
    assert [(t.block, t.position, t.vpn, t.condition, t.metrics[0].value) for t in trials] == [
        (1, 1, "vx", "clean", 4),
        (1, 2, "vx", "loss-10", 1),
        (1, 3, "vy", "unstated", 3),
        (2, 1, "vx", "loss-10", 2),
    ]
    assert trials[0].parameters == '{"a":2,"b":1}'
    assert {trial.started_at for trial in trials} == {UNKNOWN_TIME}
    assert trials[0].evidence["imported"] == {"file": "f", "line": 1, "name": "x"}


def test_names_that_become_one_vpn_are_one_cell() -> None:
    trials = trial_records([run("x", "", 1), run("y", "", 2)], {"x": "v", "y": "v"}, "mine")
    assert [(trial.block, trial.condition) for trial in trials] == [(1, "mine"), (2, "mine")]


def test_runs_are_in_the_order_of_time_where_it_is_known() -> None:
    late, early = run("x", "", 1), run("x", "", 2)
    assert in_order([late, early]) == ([late, early], False)
    late = replace(late, started_at=WHEN + timedelta(hours=1))
    assert in_order([late, early]) == ([late, early], False)
    early = replace(early, started_at=WHEN)
    assert in_order([late, early]) == ([early, late], True)
    assert in_order([]) == ([], False)


def test_many_trials_at_once_are_as_good_as_one_by_one(tmp_path: Path) -> None:
    trials = trial_records([run("x", "", n) for n in range(20)], {"x": "v"}, "")
    for name in ("one", "all"):
        with Journal.create(tmp_path / name, HEAD) as journal:
            if name == "all":
                assert journal.record_all(trials) == 20
            else:
                for trial in trials:
                    journal.record(trial)
    with Journal.open(tmp_path / "one") as one, Journal.open(tmp_path / "all") as every:
        assert one.rows().equals(every.rows())
        assert one.trials().equals(every.trials())


def test_many_trials_are_kept_all_or_none(tmp_path: Path) -> None:
    (trial,) = trial_records([run("x", "", 1)], {"x": "v"}, "")
    with Journal.create(tmp_path, HEAD) as journal:
        with pytest.raises(JournalError):
            journal.record_all([trial, trial])
        assert journal.trials().is_empty()
        assert journal.record_all([]) == 0
