"""``culvert study`` as a user sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from culvert.run.outlook.studies import as_json, check, listing
from culvert.study.shipped import shipped_studies
from culvert.study.study import Study
from culvert.vpns.registry import installed_catalogue
from tests.cli import TRACE, Cli

STUDY = """
name = "mine"
vpns = ["none", "wireguard/go", "mesh/relay"]
[[measurement]]
kind = "tcp"
duration = ["2s", "4s"]
[plan]
blocks = 3
pause = "1s"
[scale.small]
duration = "1s"
vpns = ["none"]
[[claim]]
id = "slower"
text = "A tunnel costs throughput"
test = "tcp.goodput_bps[duration=2s]: wireguard/go < none"
[[claim]]
id = "vague"
text = "It feels fast"
[[published]]
vpn = "mesh/relay"
measurement = "tcp"
metric = "goodput_bps"
value = 169
unit = "Mbit/s"
place = "table 2"
[[lacking]]
kind = "vpn"
name = "mesh/relay"
reason = "it needs a control plane"
[[lacking]]
kind = "measurement"
name = "video"
reason = "it needs a player"
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(STUDY)
    return path


def test_warnings_name_what_is_perhaps_not_meant(mine: Path) -> None:
    (found,) = check([str(mine)], installed_catalogue())
    assert found["ok"]
    assert [line.split(":")[0] for line in found["warnings"]] == [
        "3 blocks give no interval",
        "the claim vague has no test and is not judged",
        '[[lacking]] names the measurement "video", which the study does not use',
        "scale small",
    ]
    assert found["warnings"][-1].endswith(
        "cannot be judged at this scale, which omits wireguard/go"
    )


def test_every_problem_has_its_line_and_remedy(say: Cli, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(STUDY.replace("wireguard/go < none", "wiregard/go < nine").replace("169", '""'))
    (tmp_path / "worse.toml").write_text(STUDY.replace("blocks = 3", "blocks = 0\nseed = -1"))
    said = say("study", "check", path, tmp_path / "worse.toml", "quick")
    assert (said.code, TRACE in said.err) == (2, False)
    assert "bad.toml, line 24, published[0].value: it must be a number" in said.err
    assert "worse.toml, line 8, plan.blocks: it must be at least 1" in said.err
    assert "worse.toml, line 9, plan.seed: it must be at least 0" in said.err
    assert said.err.count("remedy: ") == 3
    assert said.out == "quick: valid\n"


def test_check_speaks_json(say: Cli, mine: Path) -> None:
    mine.write_text(STUDY.replace("wireguard/go < none", "wireguard/go < nine"))
    said = say("study", "check", mine, "--json")
    assert said.code == 2
    (found,) = json.loads(said.out)
    (problem,) = found["problems"]
    assert "line 16, claim[0].test" in problem["what"]
    assert problem["why"] == 'column 46: the study has no VPN "nine"'
    assert "none" in problem["remedy"]


def test_a_study_is_shown_whole(say: Cli, mine: Path) -> None:
    said = say("study", "show", mine)
    assert said.code == 0, said.err
    for words in (
        "6 cells, of which 4 can run here, 3 blocks",
        "2 unsupported: this Culvert has no VPN mesh/relay: it needs a control plane",
        "--scale small: 1 cell, 3 blocks",
        "2 claims",
        "tcp.goodput_bps[duration=2s]: wireguard/go < none",
        "1 published value",
        "table 2",
    ):
        assert words in said.out
    shown = json.loads(say("study", "show", mine, "--scale", "small", "--json").out)
    assert (shown["scale"], len(shown["cells"])) == ("small", 1)


def test_what_json_shows(mine: Path) -> None:
    catalogue = installed_catalogue()
    shown = as_json(Study.load(mine, catalogue), catalogue)
    assert [cell["unsupported"] is None for cell in shown["cells"]] == [True, True, False] * 2
    (value,) = shown["published"]
    assert (value["value"], value["unit"], value["printed"]) == (169e6, "bit/s", "169 Mbit/s")
    assert [claim["test"] is None for claim in shown["claims"]] == [False, True]


def test_a_dry_run_is_of_the_scale(say: Cli, mine: Path) -> None:
    said = say("run", mine, "--scale", "small", "--dry-run", "--json")
    told = json.loads(said.out)
    assert (told["scale"], len(told["cells"]), told["max_blocks"]) == ("small", 1, 3)
    assert 3 * (1 + 1) < told["max_s"] < 3 * 10


def test_all_shipped_studies_are_listed_and_valid() -> None:
    catalogue = installed_catalogue()
    assert [one["name"] for one in listing(catalogue)] == list(shipped_studies())
    assert all(one["ok"] for one in check(list(shipped_studies()), catalogue))
