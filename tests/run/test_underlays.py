"""A link that is not as requested is verified again, a few times in a block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from culvert.plan.plan import Trial
from culvert.results import Metric, Status
from culvert.run.links import ATTEMPTS
from culvert.run.runner import Runner
from culvert.run.trials.finding import TrialFinding
from culvert.study.study import Study
from culvert.trial.outcome import Outcome
from tests.run.fakes import CATALOGUE, Recorder, made, runner

pytestmark = pytest.mark.usefixtures("fake_drivers")

STUDY = """name = "s"
vpns = ["none", "fake/good", "fake/refuses", "fake/buggy"]
[[measurement]]
kind = "count"
[lab]
link = { kind = "wire" }
[[condition]]
name = "late"
delay = "1ms"
[plan]
blocks = 2
"""
OK = TrialFinding(Status.OK, outcome=Outcome([Metric("count", "1", 1.0)], []))


def verdicts(monkeypatch: pytest.MonkeyPatch, given: Iterator[Status]) -> None:
    """Every trial is ok but for verifications, which end as given."""

    def execute(self: Runner, trial: Trial, lost: object = None) -> TrialFinding:
        del self, lost
        if trial.cell.measurement != "underlay":
            return OK
        return TrialFinding(next(given), "it was late", "make the machine idle")

    monkeypatch.setattr(Runner, "_execute", execute)


def words(progress: Recorder) -> list[str]:
    return [str(record.status) for record in progress.records]


@pytest.mark.parametrize("refuted", range(ATTEMPTS))
def test_it_is_verified_until_it_is_as_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuted: int
) -> None:
    first = [Status.INVALID] * refuted + [Status.OK]
    verdicts(monkeypatch, iter([*first, Status.OK]))
    of, progress = Study.parse(STUDY, CATALOGUE), Recorder()
    with made(tmp_path, of) as journal:
        tally = runner(of, journal, progress).run()
        trials = journal.trials()
    assert words(progress) == ["invalid"] * refuted + ["ok"] * (8 - refuted)
    kept = trials.filter(trials["measurement"] == "underlay")["status"]
    assert list(kept) == [*map(str, first), "ok"]
    assert tally.statuses[Status.INVALID] == 2 * refuted
    assert tally.links == {**dict.fromkeys(Status, 0), Status.OK: 2, Status.INVALID: refuted}


def test_it_is_given_up_for_the_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts(monkeypatch, iter([Status.INVALID] * ATTEMPTS + [Status.OK]))
    of, progress = Study.parse(STUDY, CATALOGUE), Recorder()
    with made(tmp_path, of) as journal:
        runner(of, journal, progress).run()
    assert words(progress) == ["invalid"] * 4 + ["ok"] * 4


def test_a_resumed_run_counts_the_attempts_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = Study.parse(STUDY, CATALOGUE)
    verdicts(monkeypatch, iter([Status.INVALID] * 9))

    class Stopped(Exception):
        """The first run ends after its second verification."""

    def stop(step: object) -> None:
        if len(interrupted.records) == 2:
            raise Stopped

    interrupted, resumed = Recorder(stop), Recorder()
    with made(tmp_path, of) as journal:
        with pytest.raises(Stopped):
            runner(of, journal, interrupted).run()
        verdicts(monkeypatch, iter([Status.INVALID, Status.OK]))
        runner(of, journal, resumed).run()
    assert words(resumed) == ["invalid"] * 2 + ["ok"] * 4


OWN = STUDY.replace("[lab]", '[[measurement]]\nkind = "underlay"\n[lab]')


@pytest.mark.parametrize("refuted", [0, 1, ATTEMPTS])
def test_a_cell_that_is_the_verification_is_measured_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuted: int
) -> None:
    first = [*[Status.INVALID] * refuted, Status.OK][:ATTEMPTS]
    verdicts(monkeypatch, iter([*first, *[Status.OK] * 7]))
    of, progress = Study.parse(OWN, CATALOGUE), Recorder()
    with made(tmp_path, of) as journal:
        tally = runner(of, journal, progress).run()
        trials = journal.trials()
    kept = trials.filter(trials["measurement"] == "underlay", trials["vpn"] == "none")
    assert sorted(kept["status"]) == sorted([*map(str, first), "ok"])
    assert trials.select("block", "cell").is_unique().all()
    shown = [one for one in progress.records if one.measurement == "underlay"]
    assert len([one for one in shown if one.vpn == "none"]) == 2
    assert tally.links == {**dict.fromkeys(Status, 0), Status.INVALID: min(refuted, ATTEMPTS - 1)}
    assert sum(tally.statuses.values()) == trials.height


def test_a_real_link_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts(monkeypatch, iter([Status.INVALID, Status.OK]))
    of, progress = Study.parse(STUDY, CATALOGUE), Recorder()
    with made(tmp_path, of) as journal:
        runner(of, journal, progress, real_links=True).run()
    assert words(progress) == ["invalid"] * 4 + ["ok"] * 4
