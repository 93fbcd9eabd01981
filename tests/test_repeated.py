"""Tests that lacked processor time, in a pytest of their own with two workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.guests import ROOT
from tests.repeated import Excuses

HEAD = """
import os, time
from pathlib import Path
import pytest
from tests import quiet, repeated

HERE = Path(__file__).parent
repeated.busy = lambda: {busy}
LATE = "check failed: the link delivered the requested values: 9 of 9 packets left the wire late"
"""
LATE = """
@pytest.mark.parametrize("number", range({tests}))
def test_late(number):
    pytest.fail(LATE)
"""
MISSHAPEN = """
def test_misshapen():
    pytest.fail("check failed: the underlay has the requested loss, a to b: requested 1 %")
"""
BESIDE = """
@pytest.mark.parametrize("number", range(30))
def test_it_is_there(number):
    place = HERE / f"runs-{number}"
    place.touch()
    time.sleep(0.05)
    place.unlink()

@pytest.mark.alone
def test_undisturbed():
    assert not list(HERE.glob("runs-*"))
    time.sleep(0.3)
    assert not list(HERE.glob("runs-*"))

def test_once_late():
    time.sleep(0.1)
    count = HERE / "attempts"
    count.write_text((count.read_text() if count.exists() else "") + "x")
    if len(count.read_text()) < 3:
        pytest.fail(LATE)
    assert not list(HERE.glob("runs-*"))
    time.sleep(0.3)
    assert not list(HERE.glob("runs-*"))
"""


def run(directory: Path, text: str, *, busy: bool) -> tuple[int, str]:
    test = directory / "test_it.py"
    test.write_text(HEAD.format(busy=busy) + text)
    words = ["-q", "-p", "tests.deadline", "-p", "tests.repeated", "-p", "no:cacheprovider"]
    words += ["--numprocesses", "2", "--rootdir", str(directory)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, str(test)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout


def test_on_a_quiet_machine_lateness_is_an_error(tmp_path: Path) -> None:
    code, said = run(tmp_path, LATE.format(tests=1), busy=False)
    assert code == 1
    assert "1 failed, 3 rerun" in said


def test_on_a_busy_one_lateness_is_excused_but_not_too_often_and_no_wrong_link(
    tmp_path: Path,
) -> None:
    """The test that was late twice had the machine alone then."""
    code, said = run(tmp_path, LATE.format(tests=2) + MISSHAPEN + BESIDE, busy=True)
    assert code == 1
    assert "1 failed, 32 passed, 2 skipped, 11 rerun" in said
    assert "2 of 35 tests lacked processor time (more than one of 100: the run fails)" in said
    assert "_ test_misshapen _" in said


@pytest.mark.parametrize(
    ("tests", "excused", "too_many"),
    [(1, 1, False), (199, 2, True), (200, 2, False), (5000, 50, False), (5000, 51, True)],
)
def test_one_of_a_hundred_may_be_excused(tests: int, excused: int, too_many: bool) -> None:
    counted = Excuses()
    counted.tests, counted.excused = tests, ["one"] * excused
    assert counted.too_many is too_many
