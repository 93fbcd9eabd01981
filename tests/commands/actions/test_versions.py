"""``culvert versions`` and ``culvert bisect`` from words to exit codes; the runs are made up."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from culvert.api.run import Run
from culvert.journal.journal import Journal
from culvert.study.study import Study
from culvert.vpns.authoring import Missing
from culvert.vpns.registry import installed_catalogue
from culvert.vpns.wireguard.driver import WireGuard
from tests.cli import Cli
from tests.compare.runs import write_run
from tests.versions.history import git, history

STUDY = """
name = "one"
vpns = ["wireguard/go"]
[[measurement]]
kind = "tcp"
"""
BASE = [100.0, 101, 99, 100, 102, 98, 100, 101, 99, 100]
Made = Callable[..., Run]


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(WireGuard, "missing", lambda *_: [])
    (tmp_path / "one.toml").write_text(STUDY)
    return [
        *("--repo", str(tmp_path / "vpn"), "--vpn", "wireguard/go", "--build", "test -e good"),
        *("--study", str(tmp_path / "one.toml"), "--out", str(tmp_path / "out")),
    ]


def measures(head: Sequence[float], looks: list[str] | None = None) -> Made:
    """Instead of a run: the base's figures, and the head's, which may have none; all of them at the
    first of the ``looks``, which are the budgets."""

    def measure(file: Path, directory: Path, *, budget: str, resume: bool) -> Run:
        assert resume == Journal.exists(directory)
        if looks is not None:
            looks.append(budget)
        if resume:
            return Run(directory)
        values = {"none": BASE, "wireguard/go@base": BASE, "wireguard/go@head": head}
        failed = {} if head else {"wireguard/go@head": "it did not start"}
        counted = {vpn: series for vpn, series in values.items() if series}
        write_run(directory, counted, text=file.read_text(), unsupported=failed)
        return Run(directory)

    return measure


@pytest.mark.parametrize(
    ("head", "code", "said"),
    [
        (BASE, 0, "No slowdown (95 %); 1 same within 3 %"),
        ([0.8 * one for one in reversed(BASE)], 1, "The head is slower; 1 slower"),
        ([1.2 * one for one in reversed(BASE)], 0, "No slowdown (95 %); 1 faster"),
    ],
)
def test_the_exit_code_is_the_verdict(
    say: Cli,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    head: list[float],
    code: int,
    said: str,
) -> None:
    monkeypatch.setattr("culvert.commands.actions.versions.measure", measures(head))
    base, _ = history(tmp_path / "vpn", ["one", "two"])
    git(tmp_path / "vpn", "tag", "v1", base)
    found = say("versions", "v1", "HEAD", *words, "--build", "true", "--format", "markdown")
    assert found.code == code
    assert found.out.startswith(f"### {said}")
    assert found.out == (tmp_path / "out/compare.md").read_text()
    cases = (tmp_path / "out/compare.xml").read_text()
    assert ("<failure" in cases) == bool(code)
    assert 'classname="gate"' in cases
    assert (tmp_path / "out/report.html").exists()
    study = Study.load(tmp_path / "out/versions.toml", installed_catalogue())
    build = study.build_of("wireguard/go@base")
    assert build is not None
    assert build.commit == base


@pytest.mark.parametrize(
    ("factor", "budget", "looks"),
    [
        (0.8, "5min", ["45s"]),  # a clear regression
        (1.2, "5min", ["45s"]),  # a clear improvement
        (1.0, "5min", ["45s", "120s", "300s"]),
        (1.0, "100s", ["45s", "100s"]),
        (1.0, "30s", ["30s"]),
    ],
)
def test_a_clear_difference_ends_the_run_early(
    say: Cli,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    factor: float,
    budget: str,
    looks: list[str],
) -> None:
    seen: list[str] = []
    head = [factor * one for one in reversed(BASE)]
    monkeypatch.setattr("culvert.commands.actions.versions.measure", measures(head, seen))
    history(tmp_path / "vpn", ["one"])
    say("versions", "HEAD", "HEAD", *words, "--build", "true", "--budget", budget)
    assert seen == looks


@pytest.mark.parametrize(
    ("words_of_margin", "code", "title"),
    [
        ((), 0, "No slowdown above"),
        (("--margin", "5%", "--fail-on", "cannot-tell"), 0, "No slowdown above"),
        (("--margin", "0.1%"), 0, "Cannot tell: a slowdown above the accepted one is not excluded"),
        (("--margin", "0.1%", "--fail-on", "cannot-tell"), 1, "Cannot tell"),
    ],
)
def test_a_head_that_cannot_be_judged_fails_on_request(
    say: Cli,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words_of_margin: tuple[str, ...],
    code: int,
    title: str,
) -> None:
    head = list(reversed(BASE))
    monkeypatch.setattr("culvert.commands.actions.versions.measure", measures(head))
    history(tmp_path / "vpn", ["one"])
    options = ("--build", "true", "--format", "markdown", *words_of_margin)
    found = say("versions", "HEAD", "HEAD", *words, *options)
    assert found.code == code
    assert found.out.startswith(f"### {title}")
    junit = (tmp_path / "out/compare.xml").read_text()
    assert ("cannot tell: " in junit) == title.startswith("Cannot tell")


def test_a_base_that_does_not_build_is_named(say: Cli, words: list[str], tmp_path: Path) -> None:
    history(tmp_path / "vpn", ["one", "two"])
    refused = say("versions", "HEAD^", "HEAD", *words, "--build", "grep -q two source")
    assert refused.code == 1
    assert "error: base, " in refused.err


def test_a_head_that_does_not_work_fails(
    say: Cli, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("culvert.commands.actions.versions.measure", measures([]))
    history(tmp_path / "vpn", ["one"])
    found = say("versions", "HEAD", "HEAD", *words, "--build", "true")
    assert found.code == 1
    assert "wireguard/go@head: no trial counts: it did not start" in found.err


def test_a_vpn_that_lacks_a_part_here_is_not_measured(
    say: Cli, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacks = [
        Missing("wireguard-go", "culvert install wireguard/go"),
        Missing("tun", "modprobe tun"),
    ]
    monkeypatch.setattr(WireGuard, "missing", lambda *_: lacks)
    monkeypatch.setattr("culvert.commands.actions.versions.measure", measures(BASE))
    history(tmp_path / "vpn", ["one"])
    found = say("versions", "HEAD", "HEAD", *words, "--build", "true")
    assert found.code == 3
    assert "wireguard/go@base: missing: wireguard-go, tun" in found.err
    assert "culvert install wireguard/go; modprobe tun" in found.err
    assert not (tmp_path / "out").exists()


def test_wrong_use_is_named_before_anything_is_built(
    say: Cli, words: list[str], tmp_path: Path
) -> None:
    history(tmp_path / "vpn", ["one"])
    found = say("versions", "HEAD", "HEAD", *words, "--budget", "soon")
    assert (found.code, "soon" in found.err) == (2, True)
    wrong = say("versions", "HEAD", "HEAD", *words, "--metrics", "godput_bps")
    wrong.refused(2, "--metrics godput_bps: the study measures no such metric", "goodput_bps")
    found = say("versions", "HEAD", "HEAD", *words)
    assert (found.code, "ended with exit code 1" in found.err) == (1, True)
    say("versions", "HEAD", "", *words).refused(2, 'commit "": it is not in the repository')
    say("versions", "HEAD", "HEAD", *words, "--vpn", "none").refused(2, "has no programs to build")
    write_run(tmp_path / "out", {"wireguard/go": BASE})
    say("versions", "HEAD", "HEAD", *words).refused(2, "already contains a journal")
    claim = ("--claim", "tcp goodput falls by 5 %")
    for command in (("versions", "HEAD", "HEAD"), ("bisect", "HEAD", "HEAD", *claim)):
        say(*command, *words, "--alpha", "0").refused(2, "--alpha")


@pytest.mark.parametrize("claim", ["tcp goodput falls by 5 %", "tcp slower by 5 %"])
def test_bisect_names_the_commit_and_goes_on(
    say: Cli, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, claim: str
) -> None:
    commits = history(tmp_path / "vpn", [str(number) for number in range(9)])
    runs = []

    def measure(file: Path, directory: Path) -> Run:
        build = Study.load(file, installed_catalogue()).build_of("wireguard/go@tested")
        assert build is not None
        runs.append(build.commit)
        slower = 0.9 if commits.index(build.commit) >= 6 else 1.0
        figure = slower * math.exp(0.005 * math.sin(37 * len(runs)))
        values = {"wireguard/go@good": [100.0], "wireguard/go@tested": [100 * figure]}
        write_run(directory, values, text=file.read_text())
        return Run(directory)

    monkeypatch.setattr("culvert.versions.rounds.measure", measure)
    words += ["--claim", claim, "--build", "true", "--json"]
    stopped = say("bisect", commits[0], "HEAD", *words, "--max-trials", "10")
    assert stopped.code == 1
    before = len(runs)
    found = say("bisect", commits[0], "HEAD", *words)
    assert found.code == 0, found.err
    document = json.loads(found.out)
    assert document["commits"] == [commits[6]]
    assert document["trials"] == 2 * len(runs)
    assert 0 < len(runs) - before < 12
    again = say("bisect", commits[1], "HEAD", *words)
    assert (again.code, "another good commit" in again.err) == (2, True)
