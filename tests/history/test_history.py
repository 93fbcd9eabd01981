from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from culvert.analysis.compare.verdict import Change
from culvert.errors import UsageError
from culvert.history.document import document
from culvert.history.order import Order
from culvert.history.outcome import History, history
from culvert.history.places import places
from culvert.history.series import VERSION, series_of
from culvert.history.store import NAME
from culvert.history.words import shifts_of
from culvert.journal.journal import FILE
from tests.cli import Cli
from tests.compare.runs import write_run

from .made import made

GO = "wireguard/go"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs, the last on another machine."""
    folder = tmp_path_factory.mktemp("results")
    for number, model in enumerate(("one", "one", "two"), start=1):
        write_run(
            folder / f"run-{number}",
            {"none": [9e8 + number] * 6, GO: [5e8 + number] * 6},
            environment={"cpu": {"model": model, "threads": 2}, "load": {"average_1min": number}},
            version=f"1.{number}",
        )
    return folder


def test_machines_are_apart_and_points_in_the_order_of_time(results: Path) -> None:
    found = history([results])
    assert found.runs == 3
    machines = {one.machine: one.points["run"].to_list() for one in found.series if one.vpn == GO}
    assert machines == {
        "one, 2 CPUs, lab netns": [f"{results}/run-1", f"{results}/run-2"],
        "two, 2 CPUs, lab netns": [f"{results}/run-3"],
    }
    assert found.series[0].vpn == "none"
    assert found.series[1].points["median"].to_list() == [5e8 + 1, 5e8 + 2]
    assert found.series[1].points["version"].to_list() == ["1.1", "1.2"]


def test_a_copy_of_a_run_is_no_second_run(results: Path, tmp_path: Path) -> None:
    copies = [shutil.copytree(results / "run-1", tmp_path / name) for name in ("a", "b")]
    found = history([results, *copies])
    assert found.runs == 3
    assert {one.points.height for one in found.series} == {1, 2}


def test_a_name_that_is_no_text_is_shown_as_one(tmp_path: Path) -> None:
    top = tmp_path / os.fsdecode(b"d\xff")
    write_run(top / os.fsdecode(b"r\xff"), {GO: [5e8] * 6})
    for _ in range(2):
        (one,) = history([top]).series
        assert one.points["run"].to_list() == [f"{tmp_path}/d\\udcff/r\\udcff"]


def test_a_journal_is_read_once_until_it_changes(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = history([results], metrics=["*"])
    assert any((results / NAME).glob("cells-*.parquet"))
    monkeypatch.setattr("culvert.history.store._one", lambda place: f"read {place.name}")
    assert history([results], metrics=["*"]).runs == 3
    assert document(history([results])) == document(history([results]))
    assert [one.vpn for one in before.series] == [one.vpn for one in history([results]).series]
    (results / "run-2" / FILE).touch()
    (left_out,) = history([results]).unread
    assert left_out.why == "read run-2"


def test_parts_are_joined_and_former_states_forgotten(tmp_path: Path) -> None:
    for number in range(1, 11):
        run = write_run(tmp_path / f"run-{number}", {GO: [1e8 * number] * 6})
        assert history([tmp_path]).runs == number
        (run / FILE).touch()
    assert len(list((tmp_path / NAME).glob("runs-*.parquet"))) < 8
    (one,) = history([tmp_path]).series
    assert sorted(one.points["median"]) == [1e8 * number for number in range(1, 11)]


def test_runs_may_be_named_and_a_directory_without_one_is_refused(
    results: Path, tmp_path: Path
) -> None:
    assert [one.name for one in places([results / "run-1", results / "run-3"])] == [
        "run-1",
        "run-3",
    ]
    assert len(places([results, results / "run-1"])) == 3
    with pytest.raises(UsageError, match="contains no journal"):
        places([tmp_path])


def test_a_damaged_journal_is_named_and_left_out(say: Cli, tmp_path: Path) -> None:
    write_run(tmp_path / "good", {GO: [1e8] * 6})
    bad = write_run(tmp_path / "bad", {GO: [1e8] * 6}) / FILE
    bad.write_bytes(bad.read_bytes()[:-4096])
    ended = say("history", tmp_path, "--json")
    assert ended.code == 1
    assert f"left out: {tmp_path}/bad" in ended.err
    told = json.loads(ended.out)
    assert [one["run"] for one in told["unread"]] == [f"{tmp_path}/bad"]
    assert told["series"][0]["points"][0]["median"] == 1e8


def test_a_damaged_store_is_made_again(say: Cli, tmp_path: Path) -> None:
    write_run(tmp_path / "run", {GO: [1e8] * 6})
    assert say("history", tmp_path).code == 0
    whole = {path.name: path.stat().st_size for path in (tmp_path / NAME).glob("*.parquet")}
    for name in whole:
        (tmp_path / NAME / name).write_bytes(b"cut off")
    assert say("history", tmp_path).code == 0
    again = {path.name: path.stat().st_size for path in (tmp_path / NAME).glob("*.parquet")}
    assert again == whole


def test_what_changed_stands_beside_a_change() -> None:
    values = np.random.default_rng(1).normal(100, 1, 50)
    values[25:] -= 8
    facts = [{"kernel.release": "6.1" if run < 26 else "6.6", "cpu": "x"} for run in range(50)]
    versions = ["1.9" if run < 25 else "1.10" for run in range(50)]
    (found,) = series_of(*made({GO: values}, facts, versions), Order.TIME)
    (shift,) = found.shifts
    assert (shift.place, shift.change, shift.machine) == (25, Change.SLOWER, False)
    assert [(one.name, one.before, one.after, one.runs) for one in shift.beside] == [
        (VERSION, "1.9", "1.10", 0),
        ("kernel.release", "6.1", "6.6", 1),
    ]
    (words,) = shifts_of(found)
    assert words.change == "slower"
    assert words.beside[1] == "kernel.release: 6.1 → 6.6, 1 run later"


def test_a_fact_that_also_changes_elsewhere_says_so() -> None:
    values = np.random.default_rng(2).normal(100, 1, 40)
    values[20:] += 8
    facts = [{"steps": str(run // 10)} for run in range(40)]
    (found,) = series_of(*made({GO: values}, facts), Order.TIME)
    (beside,) = found.shifts[0].beside
    assert (beside.runs, beside.elsewhere) == (0, 2)
    assert shifts_of(found)[0].change == "faster"


def test_a_change_of_the_baseline_too_is_one_of_the_machine() -> None:
    rng = np.random.default_rng(3)
    values = {vpn: np.append(rng.normal(100, 1, 20), rng.normal(90, 1, 20)) for vpn in ("none", GO)}
    found = {one.vpn: one for one in series_of(*made(values), Order.TIME)}
    assert [shift.machine for shift in found[GO].shifts] == [True]
    assert [shift.machine for shift in found["none"].shifts] == [False]


def test_versions_are_in_their_own_order() -> None:
    versions = ["1.10", "1.9", "1.10", "1.2"]
    (found,) = series_of(*made({GO: np.arange(4.0)}, versions=versions), Order.VERSION)
    assert found.points["version"].to_list() == ["1.2", "1.9", "1.10", "1.10"]
    assert found.points["median"].to_list() == [3, 1, 0, 2]


def test_steady_series_seldom_have_a_change() -> None:
    """Of twenty series together, in 5 % of studies."""
    rng = np.random.default_rng(4)
    changed = 0
    for _ in range(40):
        values = {f"{GO}+{number}": rng.normal(100, 1, 30) for number in range(20)}
        changed += any(one.shifts for one in series_of(*made(values), Order.TIME))
    assert changed <= 6


def test_the_document_has_all(results: Path) -> None:
    told: dict[str, Any] = document(history([results], only=[GO]))
    assert {one["vpn"] for one in told["series"]} == {GO}
    assert json.loads(json.dumps(told)) == told


def test_history_prints_series_and_refuses_unknown_names(say: Cli, results: Path) -> None:
    ended = say("history", results, "--only", GO)
    assert ended.code == 0, ended.err
    assert "fewer than 10 runs" in ended.out
    say("history", results, "--study", "other").refused(2, "no run belongs to it")
    say("history", results, "--only", "nothing").refused(2, "matches no VPN")
    say("history", results, "--metrics", "goodput").refused(2, "no run has such a metric")
    assert isinstance(history([results], order=Order.VERSION), History)
