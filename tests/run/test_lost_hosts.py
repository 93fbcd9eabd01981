"""Trials that lose a host are kept, and repeated; what they measured without it counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from culvert.errors import CulvertError, HostLost, NotPossible
from culvert.journal.journal import Journal
from culvert.journal.record import Part
from culvert.plan.plan import Plan
from culvert.results import Metric, Status
from culvert.run.runner import GIVE_UP_AFTER
from culvert.run.trials.execution import Execution
from culvert.run.trials.finding import TrialFinding
from culvert.trial.outcome import Outcome
from tests.run.fakes import Recorder, head, made, runner, statuses, study

pytestmark = pytest.mark.usefixtures("fake_drivers")


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
