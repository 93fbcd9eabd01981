from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import typer

from culvert.bundle.write import bundle
from culvert.commands.actions.reproduce import Request, reproduce
from culvert.compare.sheet import markdown
from culvert.compare.words import lines
from culvert.errors import UsageError
from culvert.reproduce.outcome import OF_CHANGE, ReproduceOutcome, Reproduction, reproduction
from culvert.reproduce.words import document, method, sheet
from tests.cli import Cli
from tests.compare.runs import STUDY, write_run
from tests.journal.attacks import assign
from tests.journal.readers.samples import PING

GO, OPENVPN = "wireguard/go", "openvpn/aes-256-gcm"
CLAIMED = f"""{STUDY}
[[claim]]
id = "faster"
text = "WireGuard is faster"
test = "tcp.goodput_bps: {GO} > {OPENVPN}"
[[claim]]
id = "equal"
text = "Both are equal"
test = "tcp.goodput_bps: {GO} >= 3 x {OPENVPN}"
"""


def around(mean: float, seed: int, n: int = 12, sd: float = 0.01) -> list[float]:
    noise = np.random.default_rng((seed, int(mean))).standard_normal(n)
    return [float(mean * np.exp(sd * one)) for one in noise]


def run(path: Path, none: float, go: float, openvpn: float, *, seed: int, n: int = 12) -> Path:
    values = {"none": around(none, seed, n), GO: around(go, seed, n)}
    return write_run(path, values | {OPENVPN: around(openvpn, seed, n)}, text=CLAIMED)


def outcome(before: Path, now: Path) -> ReproduceOutcome:
    return reproduction(before, now, name=before, tolerance=0.1, alpha=0.05)


def verdicts(found: ReproduceOutcome) -> Sequence[tuple[str, Reproduction]]:
    claims = [(one.before.id, one.verdict) for one in found.claims]
    assert found.figures is not None
    figures = [one for one in lines(found.figures) if not one.control]
    return [*claims, *((one.vpn, OF_CHANGE[one.verdict]) for one in figures)]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("a") / "run", 1e9, 8e8, 4e8, seed=1)


def test_a_machine_of_half_the_speed_reproduces_what_the_vpns_cost(
    published: Path, tmp_path: Path
) -> None:
    found = outcome(published, run(tmp_path / "b", 5e8, 4e8, 2e8, seed=2))
    assert set(verdicts(found)) == {
        ("faster", Reproduction.REPRODUCED),
        ("equal", Reproduction.REPRODUCED),  # contradicted in both
        (GO, Reproduction.REPRODUCED),
        (OPENVPN, Reproduction.REPRODUCED),
    }
    assert any("the link without a VPN changed" in one for one in document(found)["warnings"])
    assert found.figures is not None
    (go,) = (line for line in lines(found.figures) if line.vpn == GO)
    assert go.before.startswith(("79", "80"))
    assert go.before.endswith(" %")


def test_the_opposite_is_contradicted_and_few_blocks_decide_nothing(
    published: Path, tmp_path: Path
) -> None:
    other = outcome(published, run(tmp_path / "b", 1e9, 4e8, 8e8, seed=2))
    assert ("faster", Reproduction.CONTRADICTED) in verdicts(other)
    assert {one for name, one in verdicts(other) if name in (GO, OPENVPN)} == {
        Reproduction.CONTRADICTED
    }
    assert other.contradicted
    few = outcome(published, run(tmp_path / "c", 1e9, 8e8, 4e8, seed=2, n=3))
    assert {one for _, one in verdicts(few)} == {Reproduction.UNCLEAR}
    assert not few.contradicted
    assert "undecided" in few.claims[0].why


def test_markdown_and_method_state_the_rates(published: Path, tmp_path: Path) -> None:
    found = outcome(published, run(tmp_path / "b", 1e9, 8e8, 4e8, seed=3))
    assert "at most 5 %" in method(found)
    text = markdown(sheet(found))
    assert text.startswith("### 4 reproduced, 0 contradicted, 0 cannot tell")
    assert "faster: WireGuard is faster" in text


def test_another_study_is_refused(published: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "b", {"none": around(1e9, 1)}, text=STUDY)
    with pytest.raises(UsageError, match="its study is not that of"):
        outcome(published, other)


def test_a_run_does_not_reproduce_itself(published: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(published, tmp_path / "copy")
    with pytest.raises(UsageError, match="it is the published run itself"):
        outcome(published, copy)


def test_an_import_without_a_study_has_nothing_to_run(tmp_path: Path, say: Cli) -> None:
    (tmp_path / "ping.txt").write_text(PING)
    say("import", "ping", tmp_path / "ping.txt", "--out", tmp_path / "run")
    said = say("reproduce", tmp_path / "run", "--out", tmp_path / "again")
    said.refused(2, "another tool measured it")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("name", ["../../..", "/etc", "a/../../b", "..", "x\n\0y", "-x"])
def test_a_strangers_study_has_a_name_inside_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    asked: list[list[str]] = []

    def run_nothing(words: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        asked.append(words)
        return subprocess.CompletedProcess(words, 3)

    given = run(tmp_path / "given", 1e9, 9e8, 5e8, seed=1, n=1)
    assign(given, "run", "study", name)
    here = tmp_path / "deep/er/here"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    monkeypatch.setattr("culvert.commands.actions.reproduce.subprocess.run", run_nothing)
    packed = bundle(given, tmp_path / "given.zip").path
    with pytest.raises(typer.Exit):
        reproduce(Request(packed, None, None, [], "5%"), as_json=False, as_markdown=False)
    ((*_, study, _, directory),) = asked
    assert Path(study).parent == Path(directory)
    assert Path(directory).parent == Path("results")
    written = {path for path in tmp_path.rglob("*.toml") if given not in path.parents}
    assert written == {here / study}


def test_builds_of_another_machine_are_not_run(tmp_path: Path, say: Cli) -> None:
    text = STUDY.replace(GO, f"{GO}@own") + '[build.own]\nprograms = "/tmp/planted"\n'
    given = write_run(tmp_path / "given", {f"{GO}@own": [1e9]}, text=text)
    packed = bundle(given, tmp_path / "given.zip").path
    out = tmp_path / "out"
    say("reproduce", packed, "--out", out).refused(2, "directories of another machine", "--journal")
    assert not out.exists()


def test_the_command_judges_a_bundle_by_a_journal(
    published: Path, tmp_path: Path, say: Cli
) -> None:
    packed = bundle(published, tmp_path / "made.zip").path
    other = run(tmp_path / "b", 1e9, 4e8, 8e8, seed=2)
    said = say("reproduce", str(packed), "--journal", str(other), "--json")
    assert said.code == 1, said.err
    found = json.loads(said.out)
    assert found["counts"] == {"reproduced": 1, "contradicted": 3, "cannot tell": 0}
    assert {one["id"]: one["verdict"] for one in found["claims"]}["faster"] == "contradicted"
    (other / "study.toml").write_text("mine")
    say("reproduce", str(packed), "--out", str(other)).refused(2, "already contains a journal")
    assert (other / "study.toml").read_text() == "mine"
    packed.write_bytes(packed.read_bytes()[:-1])
    say("reproduce", str(packed), "--journal", str(other)).refused(2, "it was changed")
