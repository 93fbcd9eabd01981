"""The runner goes on whatever a trial does, and loses nothing."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from culvert.errors import CulvertError, DeadlineExceeded, JournalError, NotPossible
from culvert.journal.journal import Journal
from culvert.journal.record import Metric, Part, Status
from culvert.labs.hosts.complaints import HostLost
from culvert.plan.plan import Plan
from culvert.run.execution import Execution
from culvert.run.finding import TrialFinding
from culvert.run.progress import ProgressStep
from culvert.run.runner import GIVE_UP_AFTER
from culvert.run.tally import Tally, TrialProblem
from culvert.run.trial_times import OVERHEAD_S, learned
from culvert.study.study import Study
from culvert.trial.outcome import Outcome
from tests.run.fakes import CATALOGUE, REGISTRY, Recorder, head, made, runner, statuses, study


@pytest.fixture(autouse=True)
def _fake_drivers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CULVERT_TOOLS", str(tmp_path / "tools"))
    monkeypatch.setattr("culvert.vpns.registry.installed", lambda: REGISTRY)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every trial of none and fake/good counts; the others do as they do. The order of trials."""
    order: list[str] = []
    execute = Execution.execute

    def counted(self: Execution) -> TrialFinding:
        vpn = self._vpn
        order.append(vpn.id)
        if vpn.id not in ("none", "fake/good"):
            return execute(self)
        metric = Metric("count", "1", float(len(order)))
        return TrialFinding(Status.OK, measuring_s=0.5, outcome=Outcome([metric], []))

    monkeypatch.setattr(Execution, "execute", counted)
    return order


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


def test_the_next_run_knows_how_long_trials_take(tmp_path: Path, counting: list[str]) -> None:
    of = study("fake/good")
    with made(tmp_path, of) as journal:
        runner(of, journal, Recorder()).run()
    cell = Plan.of(of).cells[0]
    assert learned().expected_s(cell, 2.0) < 0.1
    other = replace(cell, parameters='{"other":1}')
    assert learned().expected_s(other, 2.0) == pytest.approx(2.0 - 0.5, abs=0.1)


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


def test_a_trial_that_lost_its_host_is_kept_and_repeated_by_a_resumed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    up = False

    def executed(self: Execution) -> TrialFinding:
        if self._vpn.id == "fake/good" and not up:
            return TrialFinding.of_error(HostLost("host b", "is silent", "look at it"))
        return TrialFinding(Status.OK, outcome=Outcome([Metric("count", "1", 1.0)], []))

    monkeypatch.setattr(Execution, "execute", executed)
    of = study("fake/good", plan=f"blocks = {GIVE_UP_AFTER + 1}")
    with made(tmp_path, of) as journal:
        tally = runner(of, journal, Recorder()).run()
        assert tally.hosts_lost == tally.statuses[Status.FAILED] == GIVE_UP_AFTER + 1
        assert {row["reason"] for row in journal.trials().iter_rows(named=True)} == {
            "",
            "host b: is silent",
        }
    for host_is_up in (False, True, True):
        up = host_is_up
        with Journal.resume(tmp_path, head(of)) as journal:
            tally = runner(of, journal, Recorder()).run()
    assert not sum(tally.statuses.values())
    with Journal.open(tmp_path) as journal:
        assert sorted(statuses(journal)) == ["failed"] * 8 + ["ok"] * 8
        assert set(journal.figures({"count": "count"})) == {cell.key for cell in Plan.of(of).cells}


@pytest.mark.parametrize("kind", [HostLost, NotPossible])
def test_what_a_trial_measured_without_a_lost_host_is_a_record_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[CulvertError]
) -> None:
    """The cell is tried again in each block, and completed by a resumed run."""
    up, known = False, []
    error = kind("host b", "is silent", "look at it")

    def executed(self: Execution) -> TrialFinding:
        known.append([part.paths for part in self._earlier.parts])
        metrics = [Metric("count", "1", 1.0)] if up else []
        finding = TrialFinding(Status.OK, outcome=Outcome(metrics, []))
        if not up:
            part = finding
            part.outcome.metrics.append(Metric("count", "1", 2.0, {"path": "c>d"}))
            part.evidence.part = ("c>d",)
            finding = TrialFinding.of_error(error)
            finding.evidence.host_lost = True
            finding.part = None if known[-1] else part
        return finding

    monkeypatch.setattr(Execution, "execute", executed)
    of = study(plan="blocks = 2")
    (cell,) = Plan.of(of).cells
    with made(tmp_path, of) as journal:
        tally = runner(of, journal, Recorder()).run()
        assert (tally.hosts_lost, tally.statuses[Status.OK]) == (2, 2)
        beside = {(block, f"{cell.key}/{kind}-1") for block in (1, 2) for kind in ("part", "lost")}
        assert journal.done() == beside
        assert journal.parts(1, [f"{cell.key}/part-1"]) == [
            Part(("c>d",), (Metric("count", "1", 2.0, {"path": "c>d"}),))
        ]
        assert not journal.figures({"count": "count"})
    for host_is_up in (False, True):
        up = host_is_up
        with Journal.resume(tmp_path, head(of)) as journal:
            runner(of, journal, Recorder()).run()
    assert known == [[]] * 2 + [[("c>d",)]] * 4
    with Journal.open(tmp_path) as journal:
        assert journal.done() >= {(1, cell.key), (2, cell.key)}
        assert journal.figures({"count": "count"}) == {cell.key: {1: 1.0, 2: 1.0}}
        counted = journal.rows().filter(status="ok").select("block", "labels", "value").rows()
        assert sorted(counted) == [
            (block, *row) for block in (1, 2) for row in (('{"path":"c>d"}', 2.0), ("{}", 1.0))
        ]


def test_paths_whose_link_was_verified_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trials leave out the hosts that were lost then, until their links are verified too."""
    lost = {"b": HostLost("host b", "is silent", "look at it")}
    back_at = 5  # of the executions, the third verification
    seen: list[tuple[bool, bool]] = []

    def executed(self: Execution) -> TrialFinding:
        of_link = self._work.measurement.of_the_link
        seen.append((of_link, bool(self._earlier.lost)))
        if of_link and len(seen) < back_at:
            finding = TrialFinding.of_error(lost["b"])
            finding.lost = lost
            return finding
        return TrialFinding(Status.OK, outcome=Outcome([Metric("count", "1", 1.0)], []))

    monkeypatch.setattr(Execution, "execute", executed)
    of = study("fake/good", "fake/absent", plan="blocks = 1")
    with made(tmp_path, of) as journal:
        runner(of, journal, Recorder(), real_links=True).run()
    # Verified before each trial until all paths are, then no more.
    assert seen == [(True, False), (False, True)] * 2 + [(True, False), (False, False)]


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
    assert "a defect: LookupError: no such thing at together.py:" in stupid
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


def test_a_journal_that_takes_no_more_ends_the_run_and_keeps_what_it_has(
    tmp_path: Path, counting: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    of = study()
    record = Journal.record

    def full(self: Journal, trial: Any) -> int:
        if trial.block == 2:
            raise JournalError(str(tmp_path), "the disk is full", "free some space")
        return record(self, trial)

    monkeypatch.setattr(Journal, "record", full)
    with made(tmp_path, of) as journal:
        with pytest.raises(JournalError, match="disk is full"):
            runner(of, journal, Recorder()).run()
        assert statuses(journal) == ["ok"]


@pytest.mark.parametrize("what", ["journal.sqlite", "journal.sqlite-wal", ""])
def test_a_journal_that_vanishes_ends_the_run_before_the_next_trial(
    tmp_path: Path, counting: list[str], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    directory = tmp_path / "run"

    class Remover(Recorder):
        def end(self, *words: Any) -> None:
            super().end(*words)
            shutil.rmtree(directory) if not what else (directory / what).unlink()

    of = study("fake/good")
    with made(directory, of) as journal:
        with pytest.raises(JournalError, match="removed or replaced during the run") as caught:
            runner(of, journal, Remover()).run()
        assert caught.value.exit_code == 2
    assert len(counting) == 1


def test_time_ends_a_run_without_a_number_of_blocks(
    tmp_path: Path, counting: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter(range(10_000))
    monkeypatch.setattr("culvert.run.runner.time.monotonic", lambda: float(next(now)))
    of, progress = study(plan='blocks = {budget = "60s"}'), Recorder()
    with made(tmp_path, of) as journal:
        tally = runner(of, journal, progress).run()
    assert tally.stopped == "the time is used up"
    assert {step.total for step in progress.steps} == {None}
    remaining = [step.remaining_s for step in progress.steps]
    assert remaining == sorted(remaining, reverse=True)
    assert 0 <= remaining[-1] < remaining[0] <= 60


def test_warm_up_blocks_are_counted_in_the_total(tmp_path: Path, counting: list[str]) -> None:
    of, progress = study(plan="blocks = 2\nwarmup = 1"), Recorder()
    with made(tmp_path, of) as journal:
        runner(of, journal, progress).run()
    assert [(step.number, step.total) for step in progress.steps] == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("counts", "lacking", "code"),
    [
        ({}, 0, 0),
        ({Status.OK: 5}, 0, 0),
        ({Status.OK: 5, Status.UNSUPPORTED: 1}, 0, 3),
        ({Status.OK: 5, Status.UNSUPPORTED: 1}, 1, 0),
        ({Status.OK: 5, Status.UNSUPPORTED: 2}, 1, 3),
        ({Status.UNSUPPORTED: 2}, 2, 3),
        ({Status.OK: 5, Status.UNSUPPORTED: 1, Status.FAILED: 1}, 1, 1),
        ({Status.INVALID: 1}, 0, 1),
    ],
)
def test_exit_codes(counts: dict[Status, int], lacking: int, code: int) -> None:
    tally = Tally(statuses={**dict.fromkeys(Status, 0), **counts}, lacking=lacking)
    assert tally.exit_code == code


def test_what_went_wrong_is_told_before_what_is_not_possible() -> None:
    counts = {Status.UNSUPPORTED: 14, Status.INVALID: 1, Status.FAILED: 2}
    problems = {TrialProblem("x", status, "why", "how"): count for status, count in counts.items()}
    told = [problem.status for problem, _ in Tally(problems=problems).worst_first]
    assert told == [Status.FAILED, Status.INVALID, Status.UNSUPPORTED]


CLAIMS = """name = "s"
vpns = ["none", "fake/good", "fake/refuses"]
[[measurement]]
kind = "count"
[plan]
blocks = { min = 5, max = 50, until = "claims decided" }
[[claim]]
id = "more"
text = "good counts more than none"
test = "count.count: fake/good > none"
[[claim]]
id = "never"
text = "what always fails counts more than none"
test = "count.count: fake/refuses > none"
"""


def test_a_run_ends_when_its_claims_are_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = Execution.execute
    counted = {"none": 0, "fake/good": 0}

    def count(self: Execution) -> TrialFinding:
        vpn = self._vpn.id
        if vpn not in counted:
            return execute(self)
        counted[vpn] += 1
        value = (100.0 if vpn == "fake/good" else 50.0) + counted[vpn] * 7 % 5
        return TrialFinding(Status.OK, outcome=Outcome([Metric("count", "1", value)], []))

    monkeypatch.setattr(Execution, "execute", count)
    of = Study.parse(CLAIMS, CATALOGUE)
    with made(tmp_path, of) as journal:
        tally = runner(of, journal, Recorder()).run()
    assert tally.stopped == "every claim is decided"
    assert 5 <= counted["none"] == counted["fake/good"] < 15
    assert tally.notes == []
