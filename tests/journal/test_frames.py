"""What is read of a long journal, and what is left where it is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl

from culvert.journal.journal import Journal
from tests.journal.dummies import HEAD, failed, trial

EVIDENCE = {"proved": True, "underlay": {"a": 1}, "checks": [{"name": "x", "passed": True}]}


def test_later_trials_that_count_come_without_their_checks_when_asked(tmp_path: Path) -> None:
    with Journal.create(tmp_path, HEAD) as journal:
        for number in range(4):
            journal.record(replace(trial(number), evidence=EVIDENCE))
        journal.record(replace(failed(4), evidence=EVIDENCE))
        whole = journal.trials()
        brief = journal.trials(checks_until=2)
    assert all(json.loads(text) == EVIDENCE for text in whole["evidence"])
    told = [json.loads(text) for text in brief["evidence"]]
    without = {key: value for key, value in EVIDENCE.items() if key != "checks"}
    assert told == [EVIDENCE, EVIDENCE, without, without, EVIDENCE]
    assert brief.drop("evidence").equals(whole.drop("evidence"))
    assert brief.schema == whole.schema


def test_texts_and_nulls_come_back_as_they_were(tmp_path: Path) -> None:
    with Journal.create(tmp_path, HEAD) as journal:
        for number in range(3):
            journal.record(trial(number))
        journal.record(failed(3))
        rows = journal.rows()
    assert rows["vpn"].unique(maintain_order=True).to_list()[:2] == ["none", "wireguard/go"]
    assert rows.filter(pl.col("status") == "failed")["metric"].to_list() == [None]
    assert rows.schema["vpn"] == pl.String
