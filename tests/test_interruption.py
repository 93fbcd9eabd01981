from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from culvert import interruption


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:  # a command that another test ran in this process may ignore them
        signal.signal(number, signal.SIG_DFL)
    interruption.listen()
    yield
    interruption.listen()  # forgets what it had received
    for number, handler in before.items():
        signal.signal(number, handler)


def lose(number: signal.Signals) -> None:
    """An interruption in code that reports nothing of it, as C code may."""
    try:
        signal.raise_signal(number)
    except KeyboardInterrupt:
        return
    raise AssertionError("not interrupted")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_that_is_lost_is_remembered(number: signal.Signals) -> None:
    interruption.check()
    lose(number)
    with pytest.raises(KeyboardInterrupt):
        interruption.check()
    with pytest.raises(KeyboardInterrupt):
        interruption.unless_interrupted(ValueError("another error, with no trace of it"))


def test_an_error_after_an_interruption_is_the_interruption() -> None:
    with pytest.raises(LookupError), interruption.interrupted_first():
        raise LookupError
    lose(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interruption.interrupted_first():
        raise LookupError


def test_the_normal_end_of_a_body_is_no_interruption() -> None:
    with interruption.until_interrupted():
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("not interrupted")
    interruption.check()


def test_what_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interruption.listen()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


IMPORTING = """
import os, signal
from culvert import interruption
interruption.end_at_once()
os.kill(os.getpid(), signal.SIGINT)
signal.pause()
"""


def test_modules_that_are_still_imported_leave_nothing_to_say() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING],
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (interruption.INTERRUPTED, b"")
