"""Studies and journals with names of measurements and metrics that have changed since."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from culvert.journal.journal import Journal
from culvert.metrics.renamed import RENAMED, renamed, spellings
from culvert.results import Metric, Series
from culvert.study.study import Study
from culvert.vpns.registry import installed_catalogue
from tests.journal.dummies import HEAD, trial

OLD = """
name = "old"
vpns = ["headscale/direct"]
[lab]
topology = "mesh"
[[measurement]]
kind = "path_switch"
[[measurement]]
kind = "reconnect"
[[exclude]]
vpns = ["none"]
measurements = ["path_switch"]
[[claim]]
id = "fast"
text = "a path_switch takes less than a second"
test = "path_switch.to_relay_blocked_ms: headscale/direct < 1s"
"""


def test_a_study_of_before_is_the_same_as_with_the_new_names() -> None:
    catalogue = installed_catalogue()
    old = Study.parse(OLD, catalogue)
    text = OLD.replace('"path_switch', '"failover').replace(".to_relay_blocked", ".to_relay_outage")
    new = Study.parse(text, catalogue)
    assert {one.kind for one in old.requested["clean"]} == {"failover", "reconnect"}
    assert old.tests == new.tests
    assert old.digest == new.digest
    assert '"path_switch" is now "failover"' in old.notes
    assert old.file.claim[0].text == "a path_switch takes less than a second", "the user's own"
    assert not any("is now" in note for note in new.notes)


def test_a_journal_of_before_is_read_under_the_new_names(tmp_path: Path) -> None:
    metrics = tuple(Metric(old, "ms", float(place)) for place, old in enumerate(RENAMED))
    series = (Series("hold_ms", "ms", [1], [2.0]),)
    with Journal.create(tmp_path, HEAD) as journal:
        written = replace(trial(1), measurement="path_switch", metrics=metrics, series=series)
        number = journal.record(written)
        assert number == 1
        rows, trials, lines = journal.rows(), journal.trials(), journal.series()
        values = journal.figures({"path_switch": "outage_ms"})
    assert set(rows["metric"]) == set(RENAMED.values())
    assert set(rows["measurement"]) == set(trials["measurement"]) == {"failover"}
    assert lines["name"].to_list() == ["enforcement_delay_ms"]
    assert [list(found.values()) for found in values.values()] == [[3.0]]


def test_a_name_is_found_by_all_that_it_had() -> None:
    assert spellings("outage_ms") == ("outage_ms", "blocked_ms")
    assert spellings("goodput_bps") == ("goodput_bps",)
    assert renamed("to_relay_blocked_ms") == "to_relay_outage_ms"
    assert renamed("unblocked_ms") == "unblocked_ms"
