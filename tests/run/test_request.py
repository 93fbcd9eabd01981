"""What the command line requests of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from culvert.errors import UsageError
from culvert.labs.registry import DEFAULT, lab_kind
from culvert.run.request import RunRequest

STUDY = """
name = "one"
vpns = ["none"]
[[measurement]]
kind = "tcp"
[plan]
blocks = { budget = "5min" }
"""


@pytest.fixture
def request_(tmp_path: Path) -> RunRequest:
    (tmp_path / "one.toml").write_text(STUDY)
    return RunRequest(str(tmp_path / "one.toml"), None, False, lab_kind(DEFAULT)({}), ())


@pytest.mark.parametrize(("budget", "seconds"), [(None, 300), ("45s", 45), ("1h", 300)])
def test_a_budget_ends_a_run_before_its_study_does(
    request_: RunRequest, budget: str | None, seconds: int
) -> None:
    _, plan, _ = replace(request_, budget=budget).prepared()
    assert plan.budget_s == seconds


@pytest.mark.parametrize("budget", ["soon", "0s"])
def test_a_budget_is_a_time(request_: RunRequest, budget: str) -> None:
    with pytest.raises(UsageError, match=f"--budget {budget}"):
        replace(request_, budget=budget).prepared()


def test_where_a_run_goes_on_it_has_the_same_budget(request_: RunRequest) -> None:
    words = replace(request_, budget="45s", resume=True).arguments(Path("/out"))
    assert words[-3:] == ["--resume", "--budget", "45s"]
