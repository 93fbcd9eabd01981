"""What ends a run: its time, its claims, a journal that takes no more."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from culvert.errors import JournalError, Unreachable
from culvert.journal.journal import Journal
from culvert.plan.stopping import StopReason
from culvert.results import Metric, Status
from culvert.run.pods.cluster import Clusters, Under
from culvert.run.trials.execution import Execution
from culvert.run.trials.finding import TrialFinding
from culvert.study.study import Study
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from culvert.vpns.base import Vpn
from tests.run.fakes import CATALOGUE, Recorder, made, runner, statuses, study

pytestmark = pytest.mark.usefixtures("fake_drivers")


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


@pytest.mark.parametrize("what", ["journal.sqlite", ""])
def test_a_journal_that_vanishes_ends_the_run_at_the_next_trial(
    tmp_path: Path, counting: list[str], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    directory = tmp_path / "run"

    class Remover(Recorder):
        def end(self, *words: Any) -> None:
            super().end(*words)
            shutil.rmtree(directory) if not what else (directory / what).unlink()

    of = study("fake/good")
    with made(directory, of) as journal:
        with pytest.raises(JournalError, match="removed during the run") as caught:
            runner(of, journal, Remover()).run()
        assert caught.value.exit_code == 2
    assert len(counting) == 2


class Silent(Clusters):
    """A cluster that stops answering in its first trial."""

    def under(self, vpn: Vpn, spec: LabSpec) -> Under:
        raise Unreachable("the cluster", "no answer", "wait")

    def require_reachable(self) -> None:
        raise Unreachable("the cluster", "still no answer", "wait")

    def close(self) -> None:
        """Nothing was made."""


def test_a_cluster_that_stops_answering_ends_the_run(tmp_path: Path) -> None:
    of = study("fake/good")
    with made(tmp_path, of) as journal:
        with pytest.raises(Unreachable, match="still no answer"):
            runner(of, journal, Recorder(), clusters=Silent()).run()
        assert statuses(journal) == []


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
    assert tally.stopped == StopReason.CLAIMS
    assert 5 <= counted["none"] == counted["fake/good"] < 15
    assert tally.notes == []
