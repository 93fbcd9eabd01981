"""``culvert bench``: a comparison without a study file."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from culvert.journal.journal import Journal
from tests.cli import culvert

WORDS = ("bench", "none", "--measure", "rtt", "--time", "1s")


@pytest.mark.lab
def test_it_runs_the_study_that_it_prints_and_keeps(tmp_path: Path) -> None:
    out = tmp_path / "run"
    said = culvert(*WORDS, "--delay", "1ms", "--out", out)
    assert said.code == 0, said.err
    kept = (out / "study.toml").read_text()
    assert kept in said.out
    assert tomllib.loads(kept)["condition"] == [{"name": "link", "delay": "1ms"}]
    with Journal.open(out) as journal:
        assert set(journal.trials()["status"]) == {"ok"}
    again = culvert(*WORDS, "--out", out)
    assert (again.code, "already contains a journal" in again.err) == (2, True)
    assert (out / "study.toml").read_text() == kept


@pytest.mark.lab
def test_for_programs_standard_output_is_json_alone(tmp_path: Path) -> None:
    said = culvert(*WORDS, "--json", "--out", tmp_path / "run")
    assert json.loads(said.out)["directory"] == str(tmp_path / "run")


def test_what_it_cannot_measure_writes_nothing(tmp_path: Path) -> None:
    said = culvert("bench", "wireguard/gone", "--out", tmp_path / "run")
    assert (said.code, "gone" in said.err) == (2, True)
    assert not (tmp_path / "run").exists()
