"""What a run shows: readable in a log, and harmless whatever a VPN writes into its reason."""

from __future__ import annotations

import io
from dataclasses import replace

import polars as pl
import pytest

from culvert.console import SafeConsole
from culvert.journal.record import TrialRecord
from culvert.plan.plan import Cell, Trial
from culvert.report.labels import Labels
from culvert.results import Metric, Parameters, Status
from culvert.run.output.progress import (
    MOST_REASON,
    Lines,
    Progress,
    ProgressStep,
    Screen,
    beginning,
    clock,
)
from tests.journal.dummies import failed, trial

CELL = Cell("wireguard/go", "clean", "rtt", Parameters("{}"))
LABELS = Labels(
    pl.DataFrame(
        [("clean", "rtt", "{}")], schema=["condition", "measurement", "parameters"], orient="row"
    )
)
STEP = ProgressStep(Trial(1, 1, CELL), 7, 20, 61.0)
HOSTILE = "died [/bold] [red]x\x1b[2J\x1b]0;pwned\x07\nsecond line \u202eflip"


def console(*, terminal: bool) -> tuple[SafeConsole, io.StringIO]:
    target = io.StringIO()
    made = SafeConsole(file=target, width=80, force_terminal=terminal, color_system="truecolor")
    return made, target


def hostile() -> TrialRecord:
    return replace(failed(1), reason=HOSTILE)


def test_a_trial_is_one_line_with_the_beginning_of_its_reason() -> None:
    made, target = console(terminal=False)
    reason = HOSTILE + " and a word" * 300
    Lines(made, LABELS).end(STEP, replace(hostile(), reason=reason), None)
    (line,) = target.getvalue().splitlines()
    start = " 7/20  block 1  wireguard/go  Round trip  failed  "
    assert line.startswith(f"{start}died [/bold] [red]x")
    assert line.endswith("and a word a\u2026")
    assert len(line) <= len(start) + MOST_REASON


def test_a_line_has_the_main_figure_and_no_total_where_there_is_none() -> None:
    made, target = console(terminal=False)
    step = replace(STEP, total=None)
    Lines(made, LABELS).end(step, trial(1), Metric("rtt_p50_us", "us", 31.25))
    assert target.getvalue().startswith("7  block 1  wireguard/go  Round trip  ok  31.2")


def test_what_is_lacking_has_no_number() -> None:
    made, target = console(terminal=False)
    told = replace(failed(1), status=Status.UNSUPPORTED, reason="no NAT")
    Lines(made, LABELS).end(replace(STEP, number=None), told, None)
    assert target.getvalue().startswith("    -  block 1  wireguard/go  Round trip  unsupported  no")
    made, target = console(terminal=True)
    with Screen(made, "t", LABELS) as screen:
        screen.begin(replace(STEP, number=None))
        assert "wireguard/go" not in target.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_foreign_controls_the_terminal(terminal: bool) -> None:
    made, target = console(terminal=terminal)
    if terminal:
        with Screen(made, HOSTILE, LABELS) as screen:
            screen.begin(STEP)
            screen.end(STEP, hostile(), None)
            screen.begin(STEP)
    else:
        Lines(made, LABELS).end(STEP, hostile(), None)
    shown = target.getvalue()
    assert "died [/bold] [red]x" in shown
    for control in ("\x1b[2J", "\x1b]0", "\x07", "\u202e"):
        assert control not in shown


def test_the_screen_shows_medians_counts_problems_and_what_runs() -> None:
    made, target = console(terminal=True)
    with Screen(made, "A title", LABELS) as screen:
        for value in (1.0, 3.0, 8.0):
            screen.end(STEP, trial(1), Metric("rtt_p50_us", "us", value))
        screen.end(STEP, failed(1), None)
        screen.end(STEP, replace(failed(1), status=Status.UNSUPPORTED, reason="absent"), None)
        target.truncate(0)
        screen.begin(STEP)
        shown = target.getvalue()
    for words in ("A title", "trial 7 of 20", "1:01 left", "(3)", "3 ok", "1 failed", "it died"):
        assert words in shown
    assert "absent" not in shown  # told at the end, and no surprise


def test_the_screen_without_a_total_and_after_trials_of_an_earlier_run() -> None:
    made, target = console(terminal=True)
    with Screen(made, "t", LABELS) as screen:
        screen.begin(replace(STEP, total=None))
        screen.begin(replace(STEP, number=30, total=20))
    assert "trial 7" in target.getvalue()
    assert "of None" not in target.getvalue()


def test_a_step_before_a_trial_is_shown_at_once() -> None:
    made, target = console(terminal=False)
    Lines(made, LABELS).note("starting a cluster")
    assert target.getvalue() == "starting a cluster\n"
    made, target = console(terminal=True)
    with Screen(made, "A title", LABELS) as screen:
        screen.note("starting a cluster")
        assert "A title" in target.getvalue()
        assert "starting a cluster" in target.getvalue()
        screen.begin(STEP)
        target.truncate(0)
        screen.note("waiting for it")
        shown = target.getvalue()
        assert "trial 7 of 20" in shown
        assert "waiting for it" in shown
        assert "starting a cluster" not in shown


def test_progress_for_json_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Progress().begin(STEP)
    Progress().end(STEP, hostile(), None)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (61, "1:01"), (7200, "120:00")]
)
def test_durations_are_shown_as_a_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        (" a\n\n b\tc ", "a b c"),
        ("x" * MOST_REASON, "x" * MOST_REASON),
        ("x" * (MOST_REASON + 1), "x" * (MOST_REASON - 1) + "\u2026"),
    ],
)
def test_the_beginning_of_a_reason(reason: str, shown: str) -> None:
    assert beginning(reason) == shown
