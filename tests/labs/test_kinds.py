"""Labs as plug-ins: a fifth one of a package of its own, with options, a run and a report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from culvert.errors import UsageError
from culvert.labs.kind import Elsewhere, InNamespaces, OfPods, OnThisMachine
from culvert.labs.registry import DEFAULT, lab_kind, names, on_this_machine, recorded_kind
from tests.cli import Said, culvert, small_study

PAGE = Path(__file__).parents[2] / "docs" / "add-a-lab.md"
SHELF = PAGE.read_text().partition("```python\n")[2].partition("```")[0]
"""A lab of somebody else: the page's example."""
NESTED = (Path(__file__).parent / "plugin" / "nested.py").read_text()
"""Another, with nodes and links of its own."""


def package(place: Path, name: str, code: str, points: str) -> dict[str, str]:
    """The environment in which a package of one module is installed."""
    facts = place / f"{name}-1.dist-info"
    facts.mkdir(parents=True)
    (place / f"{name}.py").write_text(code)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (facts / "entry_points.txt").write_text(f"[culvert.labs]\n{points}")
    return {"PYTHONPATH": str(place)}


@pytest.fixture
def shelf(tmp_path: Path) -> dict[str, str]:
    points = "shelf = shelf:Shelf\nbroken = shelf:Missing\n"
    return package(tmp_path / "packages", "shelf", SHELF, points)


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
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "code", "seen_at", "vpn"),
    [
        pytest.param("shelf", SHELF, "on the shelf", "none", id="with Culvert's nodes"),
        pytest.param(
            "nested",
            NESTED,
            "on the nested link",
            "wireguard/go",
            id="with its own nodes",
            marks=pytest.mark.vpn,
        ),
    ],
)
def test_a_run_in_a_lab_of_a_package(
    name: str, code: str, seen_at: str, vpn: str, tmp_path: Path
) -> None:
    installed = package(tmp_path / "packages", name, code, f"{name} = {name}:{name.title()}\n")
    study, results = small_study(tmp_path / "s.toml", vpn), tmp_path / "results"
    study.write_text(study.read_text().replace("1000/s", "50/s"))
    said = culvert("run", study, "--out", results, "--lab", name, "--json", env=installed)
    assert said.code == 0, said.err
    assert json.loads(said.out)["trials"]["ok"] == len({"none", vpn})
    shown = culvert("report", results, env=installed)
    assert shown.code == 0, shown.err
    assert seen_at in (results / "report.html").read_text()
    assert culvert("report", results).code == 0  # and where the package is not installed


def test_a_lab_of_a_package_is_small_and_uses_no_lab_of_culverts() -> None:
    assert len(NESTED.splitlines()) <= 300
    labs = re.findall(r"culvert\.labs\.(\w+)", NESTED)
    assert set(labs) == {"base", "host", "kind", "node", "process", "room", "this_machine"}
