"""What may be drawn again, and what is a log."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from culvert.console import SafeConsole
from tests.cli import small_study


def test_a_terminal_is_a_screen_and_a_coloured_log_is_none() -> None:
    primary, secondary = pty.openpty()
    with os.fdopen(primary), os.fdopen(secondary, "w") as terminal:
        assert SafeConsole(file=terminal, _environ={"TERM": "xterm"}).is_screen
    forced = SafeConsole(file=io.StringIO(), force_terminal=True)
    assert forced.is_terminal
    assert not forced.is_screen


@pytest.mark.lab
def test_a_log_with_colours_has_no_cursor_movements(tmp_path: Path) -> None:
    """Notebooks and CI set FORCE_COLOR; each trial redrew the screen."""
    study = small_study(tmp_path / "small.toml")
    done = subprocess.run(
        [sys.executable, "-m", "culvert", "run", study, "--out", tmp_path / "run"],
        env=os.environ | {"FORCE_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    text = done.stdout + done.stderr
    assert "none" in text
    assert not re.search(r"\x1b\[[^m]*[A-Za-ln-z]", text)  # colours end with m
