"""The end of ``culvert run``: each problem once, with its whole reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from culvert.report.claims import Claims
from culvert.results import Status
from culvert.run.output.progress import MOST_REASON
from culvert.run.output.summary import MOST_PROBLEMS, print_summary
from culvert.run.output.tally import Tally
from tests.journal.dummies import failed
from tests.run.output.test_progress import LABELS


def shown(capsys: pytest.CaptureFixture[str], *reasons: str) -> list[str]:
    tally = Tally()
    for reason in reasons:
        tally.add(replace(failed(1), reason=reason))
    print_summary(Path("run"), tally, Claims(), LABELS)
    return capsys.readouterr().out.splitlines()


def test_a_reason_that_the_list_of_trials_shortens_is_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reason = "refused; its log ends:" + " a word" * MOST_REASON
    problem, remedy, counts, _ = shown(capsys, reason, reason)
    assert problem == f"{failed(1).vpn}: 2 trials {Status.FAILED}: {reason}"
    assert remedy == f"  remedy: {failed(1).remedy}"
    assert counts.startswith("2 failed")


def test_of_many_problems_it_has_the_first_and_their_number(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reasons = [f"refused by {letter}" for letter in "abcdefghij"]
    lines = shown(capsys, *reasons)
    assert [line for line in lines if "refused" in line] == [
        f"{failed(1).vpn}: 1 trial {Status.FAILED}: {reason}" for reason in reasons[:MOST_PROBLEMS]
    ]
    assert "... and 2 more problems: see the report" in lines


def test_reasons_of_one_cause_are_one_problem_with_an_example(
    capsys: pytest.CaptureFixture[str],
) -> None:
    problem, *_ = shown(capsys, "pid 41 ended", "pid 42 ended")
    assert problem == f"{failed(1).vpn}: 2 trials {Status.FAILED}: for example: pid 41 ended"
