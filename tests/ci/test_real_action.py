"""The action's steps with the real culvert, on two builds of a program that is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from culvert import tools
from tests.ci.workflow import Runner
from tests.versions.history import history

ROOT = Path(__file__).parents[2]


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.slow
def test_two_commits_are_built_measured_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tools.find("wireguard-go")
    if program is None:
        pytest.skip("wireguard-go is not installed: culvert install wireguard/go")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    base, head = history(tmp_path / "vpn", ["one", "two"])
    github = {"sha": head, "event_name": "push", "event": {"before": base}, "token": ""}
    runner = Runner(ROOT / "action.yml", tmp_path, github, Path(sys.executable).parent)
    ran = runner.run(
        vpn="wireguard/go",
        build=f"cp {program} wireguard-go",
        repo=str(tmp_path / "vpn"),
        budget="8s",
        culvert="",
    )
    results = Path(ran.outputs["measure"]["directory"])
    # The verdict is that of chance: one or two blocks.
    assert (results / "report.html").exists(), ran.printed
    assert (results / "compare.xml").exists()
    assert "wireguard/go@base" in ran.summary
    for commit in (base, head):
        assert commit[:12] in ran.summary
