"""Labs as plug-ins: a fifth one of a package of its own, with options, a run and a report."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from culvert.errors import UsageError
from culvert.labs.kind import Elsewhere, InNamespaces, OfPods, OnThisMachine
from culvert.labs.registry import DEFAULT, lab_kind, names, on_this_machine, recorded_kind
from tests.cli import Said, culvert, small_study

PAGE = Path(__file__).parents[2] / "docs" / "add-a-lab.md"
SHELF = PAGE.read_text().partition("```python\n")[2].partition("```")[0]
"""A lab of somebody else: the page's example."""


@pytest.fixture
def shelf(tmp_path: Path) -> dict[str, str]:
    """The environment in which that package is installed."""
    place = tmp_path / "packages"
    (place / "shelf-1.dist-info").mkdir(parents=True)
    (place / "shelf.py").write_text(SHELF)
    (place / "shelf-1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: shelf\nVersion: 1\n"
    )
    points = "[culvert.labs]\nshelf = shelf:Shelf\nbroken = shelf:Missing\n"
    (place / "shelf-1.dist-info" / "entry_points.txt").write_text(points)
    return {**os.environ, "PYTHONPATH": str(place)}


def test_labs_declare_what_they_are() -> None:
    assert names()[0] == DEFAULT == "netns"
    assert {"netns", "vm", "hosts", "kubernetes"} <= set(names())
    kinds = {name: lab_kind(name) for name in names()}
    assert [name for name, kind in kinds.items() if issubclass(kind, OnThisMachine)] == ["netns"]
    assert [name for name, kind in kinds.items() if issubclass(kind, OfPods)] == ["kubernetes"]
    assert [name for name, kind in kinds.items() if issubclass(kind, Elsewhere)] == ["vm"]
    assert {name for name, kind in kinds.items() if issubclass(kind, InNamespaces)} == {
        "netns",
        "vm",
    }
    assert on_this_machine("netns")
    assert not on_this_machine("a lab of the past")
    assert recorded_kind("a lab of the past") is None


def test_a_labs_options_are_written_again() -> None:
    made = lab_kind("kubernetes")({"cluster": "kubeconfig", "prove": True, "from": "zone:a"})
    assert made.words() == [
        "--lab",
        "kubernetes",
        "--cluster",
        "kubeconfig",
        "--from",
        "zone:a",
        "--prove",
    ]
    with pytest.raises(UsageError, match="no inventory"):
        lab_kind("hosts")({})


def test_a_package_brings_a_lab_with_its_options(shelf: dict[str, str]) -> None:
    def run(*words: str) -> Said:
        return culvert("run", *words, env=shelf)

    helped = run("--help").out
    assert "Options of the lab shelf (namespaces on a shelf):" in helped
    assert "--shelf N" in helped
    assert run("quick", "--lab", "shelf", "--shelf", "3", "--dusty", "--dry-run").code == 0
    run("quick", "--lab", "shelf", "--shelf", "high", "--dry-run").refused(2, "not a number")
    run("quick", "--dusty", "--dry-run").refused(2, "--dusty", "--lab shelf")
    run("quick", "--lab", "broken", "--dry-run").refused(2, "shelf:Missing", "package shelf")
    run("quick", "--lab", "nowhere", "--dry-run").refused(2, "netns", "shelf")


@pytest.mark.lab
def test_a_run_in_a_lab_of_a_package(shelf: dict[str, str], tmp_path: Path) -> None:
    study, results = small_study(tmp_path / "s.toml"), tmp_path / "results"
    study.write_text(study.read_text().replace("1000/s", "50/s"))
    said = culvert("run", study, "--out", results, "--lab", "shelf", "--json", env=shelf)
    assert said.code == 0, said.err
    assert json.loads(said.out)["trials"]["ok"] == 1
    shown = culvert("report", results, env=shelf)
    assert shown.code == 0, shown.err
    assert "on the shelf" in (results / "report.html").read_text()
    assert culvert("report", results).code == 0  # and where the package is not installed
