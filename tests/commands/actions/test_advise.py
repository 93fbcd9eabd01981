"""``culvert advise``: what it refuses."""

from __future__ import annotations

from pathlib import Path

from tests.cli import Cli


def test_a_rate_without_a_unit_is_refused(say: Cli, tmp_path: Path) -> None:
    said = say("advise", tmp_path, "--rate", "1000", "--clients", "5")
    assert said.code == 2
    assert "--rate 1000" in said.err


def test_a_directory_without_a_run_is_refused(say: Cli, tmp_path: Path) -> None:
    said = say("advise", tmp_path, "--rate", "1Gbit/s", "--clients", "5")
    assert said.code == 2
    assert str(tmp_path) in said.err
