"""Tests that hang end, in a pytest of their own with short deadlines."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.guests import ROOT

HEAD = """
import os, subprocess, threading, time
import pytest
from hypothesis import given, strategies as st
from tests import deadline

deadline.AGAIN_S, deadline.LAST_S = 0.3, {last_s}
pytestmark = pytest.mark.timeout(0.3)
"""
HANGING = """
def test_whose_cleanup_waits_too():
    reader, writer = os.pipe()
    with subprocess.Popen(["cat"], stdin=reader):  # until this process has ended
        time.sleep(1000)

@pytest.fixture
def held():
    yield
    threading.Event().wait()

def test_that_failed_and_whose_fixture_waits(held):
    assert False

attempts = []

@pytest.mark.flaky(reruns=1)
def test_that_is_repeated():
    attempts.append(1)
    assert len(attempts) > 1
    time.sleep(1000)

@given(st.integers())
def test_of_hypothesis(number):
    time.sleep(1000)

def test_that_takes_all_exceptions_for_errors():
    while True:
        try:
            time.sleep(1000)
        except Exception:
            pass
"""
LOCKED = """
def test_one():
    reader, writer = os.pipe()
    file = open(reader, "rb")
    threading.Thread(target=file.read, daemon=True).start()
    time.sleep(0.05)
    file.close()  # waits for the thread's lock, in C
"""


def ended(directory: Path, text: str, *, last_s: float) -> str:
    """What a pytest prints that runs these tests and one after them, and fails."""
    test = directory / "test_it.py"
    test.write_text(HEAD.format(last_s=last_s) + text + "\ndef test_another(): pass\n")
    words = ["-q", "-p", "tests.deadline", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "--rootdir", str(directory), str(test)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1, done.stdout
    return done.stdout


def test_each_ends_and_the_next_one_runs(tmp_path: Path) -> None:
    said = ended(tmp_path, HANGING, last_s=100)
    names = re.findall(r"def (test_\w+)", HANGING)
    found = re.findall(r"^E .*: it did not end within 0\.3 s$", said, re.MULTILINE)
    assert len(found) == len(names) + 1, said  # the first one's second alarm stands after its first
    assert f"{len(names)} failed, 1 passed, 1 error, 1 rerun" in said
    assert "most recent call first" in said  # the stacks of all threads


def test_what_no_signal_interrupts_ends_with_the_stacks(tmp_path: Path) -> None:
    said = ended(tmp_path, LOCKED, last_s=1)
    assert "Timeout (0:00:01.300000)!" in said
    assert "test_it.py" in said
    assert "passed" not in said
