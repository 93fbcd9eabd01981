"""Trials that lose a host fail, and a resumed run repeats them in their places."""

from __future__ import annotations

from pathlib import Path

import pytest

from culvert.errors import HostLost
from culvert.journal.journal import Journal
from culvert.plan.plan import Plan
from culvert.results import Metric, Status
from culvert.run.runner import GIVE_UP_AFTER
from culvert.run.trials.execution import Execution
from culvert.run.trials.finding import TrialFinding
from culvert.trial.outcome import Outcome
from tests.run.fakes import Recorder, head, made, runner, statuses, study

pytestmark = pytest.mark.usefixtures("fake_drivers")


def test_a_trial_that_lost_its_host_is_repeated_by_a_resumed_run(
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
        assert len(journal.to_repeat()) == GIVE_UP_AFTER + 1
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
        assert statuses(journal) == ["ok"] * 8
        assert not journal.to_repeat()
        assert set(journal.figures({"count": "count"})) == {cell.key for cell in Plan.of(of).cells}


def test_a_link_that_lost_its_host_is_verified_again_before_the_next_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_at = 3  # of the executions, the third verification
    seen: list[bool] = []

    def executed(self: Execution) -> TrialFinding:
        of_link = self._measurement.of_the_link
        seen.append(of_link)
        if of_link and len(seen) < back_at:
            return TrialFinding.of_error(HostLost("host b", "is silent", "look at it"))
        return TrialFinding(Status.OK, outcome=Outcome([Metric("count", "1", 1.0)], []))

    monkeypatch.setattr(Execution, "execute", executed)
    of = study("fake/good", "fake/absent", plan="blocks = 1")
    with made(tmp_path, of) as journal:
        tally = runner(of, journal, Recorder(), real_links=True).run()
        assert len(journal.to_repeat()) == 2
        assert "not measured, because of the underlay in this block: host b: is silent" in set(
            journal.trials()["reason"]
        )
    assert seen == [True, True, True, False]
    assert tally.hosts_lost == 4  # two verifications, and the trials that needed them
