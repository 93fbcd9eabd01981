"""The GitHub action and the GitLab template, step by step, with a culvert that only records."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ci.workflow import Ran, Runner

ROOT = Path(__file__).parents[2]
PULL = {"number": 7, "base": {"sha": "basesha"}}
CULVERT = """#!/bin/sh
printf '%s\\n' "$@" > "$RECORDED/culvert"
while [ "$1" != --out ]; do shift; done
mkdir -p "$2"; [ -z "$TABLE" ] || echo "$TABLE" > "$2/compare.md"
exit "$CODE"
"""
GH = """#!/bin/sh
printf '%s\\n' "$*" >> "$RECORDED/gh"
case "$*" in *--paginate*) printf "$EARLIER"; exit 0 ;; esac
for word in "$@"; do case "$word" in body=@*) cp "${word#body=@}" "$RECORDED/comment" ;; esac; done
exit "$REFUSED"
"""
CURL = """#!/bin/sh
cat > "$RECORDED/config"; printf '%s\\n' "$@" > "$RECORDED/curl"
"""


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    for name, script in (("culvert", CULVERT), ("gh", GH), ("curl", CURL)):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(script)
        program.chmod(0o755)
    (tmp_path / "recorded").mkdir()
    return tmp_path / "recorded"


def acted(recorded: Path, *, event: str = "pull_request", **stub: str) -> Ran:
    runner = Runner(
        ROOT / "action.yml",
        recorded.parent,
        {
            "sha": "headsha",
            "event_name": event,
            "event": {"pull_request": PULL} if event == "pull_request" else {"before": "before"},
            "repository": "us/vpn",
            "token": "secret",
        },
        recorded.parent / "bin",
        {"RECORDED": str(recorded), "TABLE": "| t |", "CODE": "0", "EARLIER": "", "REFUSED": "0"}
        | stub,
    )
    return runner.run(vpn="wireguard/go", build="make 'all'; $x", culvert="")


def words(recorded: Path, name: str) -> list[str]:
    return (recorded / name).read_text().splitlines()


def test_a_pull_request_is_measured_commented_and_passed(recorded: Path) -> None:
    ran = acted(recorded)
    assert ran.steps == [
        "Build and measure both versions",
        "Upload the report",
        "Comment the table",
        "Verdict",
    ]
    assert ran.code == 0
    given = words(recorded, "culvert")
    assert given[:3] == ["versions", "headsha^1", "headsha"]
    options = dict(zip(given[3::2], given[4::2], strict=True))
    assert options["--build"] == "make 'all'; $x"
    assert (options["--study"], options["--budget"]) == ("gate", "5min")
    assert ran.summary == "| t |\n"
    assert ran.outputs["measure"]["regressed"] == "false"
    assert options["--out"] in ran.uploaded
    assert Path(options["--out"]).name == ran.outputs["measure"]["name"]
    assert (recorded / "comment").read_text() == "<!-- culvert-wireguard-go-gate -->\n| t |\n"
    assert "--method POST repos/us/vpn/issues/7/comments" in words(recorded, "gh")[-1]
    assert "secret" not in ran.printed + "".join(words(recorded, "gh"))


def test_several_vpns_have_results_artifacts_and_comments_of_their_own() -> None:
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    named = {step["name"]: step for step in steps}
    own = "${{ steps.measure.outputs.name }}"
    assert named["Upload the report"]["with"]["name"] == own
    assert named["Comment the table"]["env"]["NAME"] == own


def test_a_slower_head_fails_after_its_comment(recorded: Path) -> None:
    ran = acted(recorded, CODE="1", EARLIER="42\\n43\\n")
    assert ran.steps[-2:] == ["Comment the table", "Verdict"]
    assert (ran.code, ran.outputs["measure"]["regressed"]) == (1, "true")
    assert "--method PATCH repos/us/vpn/issues/comments/42" in words(recorded, "gh")[-1]


def test_without_a_table_the_job_fails_at_once(recorded: Path) -> None:
    ran = acted(recorded, CODE="2", TABLE="")
    assert ran.steps == ["Build and measure both versions"]
    assert ran.code == 2
    assert acted(recorded, CODE="0", TABLE="").code == 1


def test_a_push_is_compared_with_the_commit_before_and_not_commented(recorded: Path) -> None:
    ran = acted(recorded, event="push")
    assert words(recorded, "culvert")[1:3] == ["before", "headsha"]
    assert "Comment the table" not in ran.steps
    assert not (recorded / "gh").exists()


def test_a_token_that_may_not_write_is_a_warning(recorded: Path) -> None:
    ran = acted(recorded, REFUSED="1")
    assert ran.code == 0
    assert "::warning::" in ran.printed


def test_its_options_are_those_of_the_command(say: Any) -> None:
    helped = say("versions", "--help").out
    scripts = (ROOT / "action.yml").read_text() + (ROOT / "ci/gitlab.yml").read_text()
    used = {word for word in scripts.replace('"', " ").split() if word.startswith("--")}
    ours = {
        word for word in used
        if word in ("--repo", "--vpn", "--build", "--programs", "--study", "--budget")
        or word in ("--tolerance", "--alpha", "--out", "--margin", "--fail-on")
    }  # fmt: skip
    assert len(ours) == 11
    assert all(f"  {word} " in helped for word in ours)


GITLAB = {
    "CI_MERGE_REQUEST_DIFF_BASE_SHA": "basesha",
    "CI_COMMIT_SHA": "headsha",
    "CI_API_V4_URL": "https://gitlab.example/api/v4",
    "CI_PROJECT_ID": "3",
    "CI_MERGE_REQUEST_IID": "9",
    "CULVERT_VPN": "wireguard/go",
    "CULVERT_BUILD": "make",
}


@pytest.mark.parametrize("token", ["", "secret"])
def test_the_gitlab_job(recorded: Path, token: str) -> None:
    job = yaml.safe_load((ROOT / "ci/gitlab.yml").read_text())[".culvert"]
    done = _sh(job, recorded, {"CULVERT_TOKEN": token, "TABLE": "| t |", "CODE": "1"})
    assert done.returncode == 1
    assert words(recorded, "culvert")[:3] == ["versions", "basesha", "headsha"]
    assert (recorded / "curl").exists() is bool(token)
    if token:
        assert "secret" in (recorded / "config").read_text()
        assert "secret" not in (recorded / "curl").read_text()
        assert words(recorded, "curl")[-1].endswith("/projects/3/merge_requests/9/notes")
    assert (recorded.parent / job["artifacts"]["reports"]["junit"]).parent.is_dir()


def test_the_gitlab_job_of_a_merged_result_is_compared_with_its_target(recorded: Path) -> None:
    job = yaml.safe_load((ROOT / "ci/gitlab.yml").read_text())[".culvert"]
    merged = {"CI_MERGE_REQUEST_TARGET_BRANCH_SHA": "targetsha", "TABLE": "", "CODE": "0"}
    assert _sh(job, recorded, merged).returncode == 0
    assert words(recorded, "culvert")[:3] == ["versions", "targetsha", "headsha"]


def _sh(
    job: Mapping[str, Any], recorded: Path, stub: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-ec", "\n".join(job["script"])],
        env={
            **job["variables"],
            **GITLAB,
            **stub,
            "RECORDED": str(recorded),
            "PATH": f"{recorded.parent}/bin:{os.environ['PATH']}",
        },
        cwd=recorded.parent,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
