"""The runner goes on whatever a trial does, and loses nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from culvert.errors import DeadlineExceeded, NotPossible
from culvert.journal.journal import Journal
from culvert.plan.plan import Plan
from culvert.results import Status
from culvert.run.outlook.expected import OVERHEAD_S
from culvert.run.output.progress import ProgressStep
from culvert.run.runner import GIVE_UP_AFTER
from culvert.run.trials.execution import Execution
from culvert.run.trials.finding import TrialFinding
from culvert.study.study import Study
from tests.run.fakes import CATALOGUE, Recorder, head, made, runner, statuses, study

pytestmark = pytest.mark.usefixtures("fake_drivers")


def test_every_cell_is_measured_in_every_block(tmp_path: Path, counting: list[str]) -> None:
    of, progress = study("fake/good"), Recorder()
    with made(tmp_path, of) as journal:
        tally = runner(of, journal, progress).run()
        assert statuses(journal) == ["ok"] * 4
        assert journal.done() == {(n, c.key) for n in (1, 2) for c in Plan.of(of).cells}
    assert [step.number for step in progress.steps] == [1, 2, 3, 4]
    assert {step.total for step in progress.steps} == {4}
    assert [headline.value for headline in progress.headlines if headline] == [1, 2, 3, 4]
    assert (tally.statuses[Status.OK], tally.measuring_s, tally.exit_code) == (4, 2.0, 0)
    assert tally.stopped == "all blocks are measured"


def test_time_to_go_shrinks_with_each_trial(tmp_path: Path, counting: list[str]) -> None:
    of, progress = study("fake/good"), Recorder()
    with made(tmp_path, of) as journal:
        runner(of, journal, progress).run()
    first, *_, last = [step.remaining_s for step in progress.steps]
    assert first == pytest.approx(4 * (2.0 + OVERHEAD_S))
    # What was measured is believed more than what was expected: these trials take no time.
    assert last < 0.1


def test_what_is_lacking_is_told_once_and_nothing_is_tried(
    tmp_path: Path, counting: list[str]
) -> None:
    text = (
        'name = "s"\nvpns = ["none", "mesh/relay"]\n[[measurement]]\nkind = "count"\n'
        '[plan]\nblocks = 3\n[[lacking]]\nkind = "vpn"\nname = "mesh/relay"\nreason = "no NAT"\n'
    )
    of, progress = Study.parse(text, CATALOGUE), Recorder()
    with made(tmp_path, of) as journal:
        tally = runner(of, journal, progress).run()
        (told,) = journal.trials().filter(status="unsupported").iter_rows(named=True)
    assert (told["block"], told["vpn"]) == (1, "mesh/relay")
    assert told["reason"] == "this Culvert has no VPN mesh/relay: no NAT"
    assert told["remedy"]
    assert counting == ["none"] * 3
    assert sorted(step.number or 0 for step in progress.steps) == [0, 1, 2, 3]
    assert {step.total for step in progress.steps} == {3}
    assert (tally.lacking, tally.exit_code) == (1, 0)


def test_the_total_is_of_what_is_still_tried(tmp_path: Path, counting: list[str]) -> None:
    of, progress = study("fake/good", "fake/absent", plan="blocks = 3"), Recorder()
    with made(tmp_path, of) as journal:
        runner(of, journal, progress).run()
    assert [step.number for step in progress.steps] == [1, 2, 3, 4, 5, 6, 7]
    totals = [step.total for step in progress.steps]
    found = [step.trial.cell.vpn for step in progress.steps].index("fake/absent")
    assert totals == [9] * (found + 1) + [7] * (6 - found)


def test_what_is_done_is_not_repeated(tmp_path: Path, counting: list[str]) -> None:
    of = study("fake/good")

    def stop_at_the_third(step: ProgressStep) -> None:
        if step.number == 3:
            raise KeyboardInterrupt

    with made(tmp_path, of) as journal, pytest.raises(KeyboardInterrupt):
        runner(of, journal, Recorder(stop_at_the_third)).run()
    with Journal.resume(tmp_path, head(of)) as journal:
        assert len(journal.done()) == 2
        progress = Recorder()
        tally = runner(of, journal, progress).run()
        assert len(journal.done()) == 4
    assert [(step.number, step.total) for step in progress.steps] == [(3, 4), (4, 4)]
    assert tally.statuses[Status.OK] == 2
    assert len(counting) == 4


def test_resuming_what_is_finished_does_nothing(tmp_path: Path, counting: list[str]) -> None:
    of = study()
    with made(tmp_path, of) as journal:
        runner(of, journal, Recorder()).run()
        progress = Recorder()
        assert runner(of, journal, progress).run().exit_code == 0
    assert progress.steps == []


def test_one_vpn_in_trouble_leaves_the_others_alone(tmp_path: Path, counting: list[str]) -> None:
    of = study("fake/good", "fake/absent", "fake/refuses", "fake/stupid", plan="blocks = 1")
    with made(tmp_path, of) as journal:
        tally = runner(of, journal, Recorder()).run()
        trials = {row["vpn"]: row for row in journal.trials().iter_rows(named=True)}
    assert {vpn: row["status"] for vpn, row in trials.items()} == {
        "none": "ok",
        "fake/good": "ok",
        "fake/absent": "unsupported",
        "fake/refuses": "failed",
        "fake/stupid": "failed",
    }
    assert trials["fake/absent"]["remedy"] == "culvert install fake"
    assert "the lab: is not opened" in trials["fake/refuses"]["reason"]
    stupid = trials["fake/stupid"]["reason"]
    assert "missing() raised LookupError: no such thing (raised at " in stupid
    assert "fakes.py:" in stupid  # where the driver is wrong
    assert "\n" not in stupid
    assert tally.exit_code == 1
    assert sum(tally.problems.values()) == 3


def test_a_lab_that_this_machine_cannot_build_is_unsupported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise NotPossible("CPU 9", "is not there", "choose another")

    monkeypatch.setattr("culvert.study.study.Study.lab_spec", refuse)
    of = study(plan="blocks = 1")
    with made(tmp_path, of) as journal:
        tally = runner(of, journal, Recorder()).run()
        assert statuses(journal) == ["unsupported"]
    assert tally.exit_code == 3


def test_after_some_failures_in_a_row_a_vpn_is_not_tried_again(tmp_path: Path) -> None:
    tried: list[object] = []

    def slow(spec: object) -> Any:
        tried.append(spec)
        raise DeadlineExceeded("tunnel", "not up", "look")

    of = study(plan=f"blocks = {GIVE_UP_AFTER + 2}")
    with made(tmp_path, of) as journal:
        runner(of, journal, Recorder(), make_lab=slow).run()
        reasons = journal.trials()["reason"].to_list()
        assert all(journal.trials()["remedy"])
    assert len(tried) == GIVE_UP_AFTER
    assert len(reasons) == GIVE_UP_AFTER + 2
    told = "not tried: none failed 3 times in a row, last: tunnel: not up"
    assert reasons[GIVE_UP_AFTER:] == [told] * 2


def test_a_success_in_between_forgives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = [Status.FAILED, Status.FAILED, Status.OK] * 3
    monkeypatch.setattr(
        Execution, "execute", lambda self: TrialFinding(findings.pop(0), reason="x")
    )
    of = study(plan="blocks = 9")
    with made(tmp_path, of) as journal:
        runner(of, journal, Recorder()).run()
        assert statuses(journal) == ["failed", "failed", "ok"] * 3


def test_warm_up_blocks_are_counted_in_the_total(tmp_path: Path, counting: list[str]) -> None:
    of, progress = study(plan="blocks = 2\nwarmup = 1"), Recorder()
    with made(tmp_path, of) as journal:
        runner(of, journal, progress).run()
    assert [(step.number, step.total) for step in progress.steps] == [(1, 3), (2, 3), (3, 3)]
