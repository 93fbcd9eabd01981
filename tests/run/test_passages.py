"""Paths between hosts that change from one block to the next are noted."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from culvert.plan.plan import Trial
from culvert.results import Metric, Status
from culvert.run.links import changes, passages_of
from culvert.run.runner import Runner
from culvert.run.trials.finding import TrialFinding
from culvert.study.study import Study
from culvert.trial.check import Evidence
from culvert.trial.outcome import Outcome
from tests.run.fakes import CATALOGUE, Recorder, made, runner

pytestmark = pytest.mark.usefixtures("fake_drivers")

STUDY = """name = "s"
vpns = ["none"]
[[measurement]]
kind = "count"
[plan]
blocks = 3
"""


def underlay(gateway: str, ttl: str = "64") -> dict[str, object]:
    way = {"device": "e", "source": "192.0.2.1", "gateway": gateway, "ttl": ttl}
    return {"a": {"paths": {"b": way}}, "b": {"underlay": {}}}


def test_each_difference_is_named() -> None:
    old, new = passages_of(underlay("none")), passages_of(underlay("192.0.2.9", "61"))
    assert changes(3, old, old) == []
    assert changes(3, old, new) == [
        "the path changed since block 3: a to b: gateway none, now 192.0.2.9; ttl 64, now 61"
    ]


def test_what_is_unknown_has_not_changed() -> None:
    old, new = passages_of(underlay("none", "unknown")), passages_of(underlay("none"))
    assert changes(1, old, new) == changes(1, new, old) == []
    assert changes(1, {}, new) == []


def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_before: int) -> list[list[str]]:
    """Of each block's verification; the path changes with block 3. The run is interrupted before
    block ``stop_before`` and resumed."""
    interrupted = False

    def execute(self: Runner, trial: Trial, lost: object = None) -> TrialFinding:
        del self, lost
        nonlocal interrupted
        if trial.block == stop_before and not interrupted:
            interrupted = True
            raise KeyboardInterrupt
        evidence = Evidence(underlay=underlay("192.0.2.9" if trial.block > 2 else "none"))
        outcome = Outcome([Metric("count", "1", 1.0)], [])
        return TrialFinding(Status.OK, outcome=outcome, evidence=evidence)

    monkeypatch.setattr(Runner, "_execute", execute)
    of = Study.parse(STUDY, CATALOGUE)
    with made(tmp_path, of) as journal:
        if stop_before:
            with pytest.raises(KeyboardInterrupt):
                runner(of, journal, Recorder(), real_links=True).run()
        runner(of, journal, Recorder(), real_links=True).run()
        trials = journal.trials().filter(pl.col("measurement") == "underlay").sort("block")
    return [json.loads(text).get("notes", []) for text in trials["evidence"]]


@pytest.mark.parametrize("stop_before", [0, 2, 3])
def test_the_block_with_another_path_has_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_before: int
) -> None:
    note = "the path changed since block 2: a to b: gateway none, now 192.0.2.9"
    assert notes(tmp_path, monkeypatch, stop_before) == [[], [], [note]]
