"""A test that hangs is ended, whatever it waits for, and what it waits for is shown.

pytest-timeout's alarm comes once: a ``finally`` or a fixture that then waits goes on for ever. The
first failure cancels it, also for the tear-down and for the repetitions of the test. Hypothesis
takes its exception for a finding, and tries the same input again, without an alarm.

So the alarm is repeated until the test has ended, and its exception is no failure that Hypothesis
reduces. No signal interrupts a lock or a library in C: later the process ends, with the stacks of
all threads, and pytest-xdist names the test.
"""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Generator
from typing import Any

import pytest

AGAIN_S = 30.0
"""From one alarm to the next: a fixture may end in this time what the test has begun."""
LAST_S = 150.0
"""From the first alarm to the end of the process."""

_LIMIT_S = pytest.StashKey[float]()
_STDERR = pytest.StashKey[int]()

Phase = Generator[None, object, object]


class Hung(BaseException):
    """The test did not end in time."""


def pytest_configure(config: pytest.Config) -> None:
    """Keep the standard error: during tests, pytest captures what is written there."""
    config.stash[_STDERR] = os.dup(2)


def pytest_unconfigure(config: pytest.Config) -> None:
    """After the last test."""
    os.close(config.stash[_STDERR])
    del config.stash[_STDERR]


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool | None:
    """In place of pytest-timeout's own alarm, unless a debugger waits for its user."""
    if settings.method != "signal" or item.config.getoption("usepdb"):
        return None
    item.stash[_LIMIT_S] = settings.timeout
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_cancel_timer(item: pytest.Item) -> bool | None:
    """Not by a failure: its tear-down may hang."""
    return True if _LIMIT_S in item.stash else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Phase:
    """With all repetitions."""
    try:
        return (yield)
    finally:
        if _LIMIT_S in item.stash:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Phase:
    """The time of each repetition begins here."""
    limit_s = item.stash.get(_LIMIT_S, None)
    if limit_s is not None:
        signal.signal(signal.SIGALRM, lambda *_: _end(item, limit_s))
        signal.setitimer(signal.ITIMER_REAL, limit_s, AGAIN_S)
        _end_at_last(item)
    return (yield from _ended_by(pytest.fail.Exception))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call() -> Phase:
    """The test itself."""
    return (yield from _ended_by(Hung))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown() -> Phase:
    """Its fixtures; after a failure of one, pytest ends the others."""
    return (yield from _ended_by(pytest.fail.Exception))


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """pytest has just cancelled the dump of stacks."""
    if isinstance(node, pytest.Item):
        _end_at_last(node)


_ends: type[BaseException] | None = None
"""What ends the part of a test that runs; between two parts it would end pytest itself."""


def _ended_by(error: type[BaseException]) -> Phase:
    global _ends  # noqa: PLW0603
    _ends = error
    try:
        return (yield)
    finally:
        _ends = None


def _end(item: pytest.Item, limit_s: float) -> None:
    if _ends is not None:
        faulthandler.dump_traceback(item.config.stash[_STDERR])
        raise _ends(f"it did not end within {limit_s:g} s")


def _end_at_last(item: pytest.Item) -> None:
    limit_s = item.stash.get(_LIMIT_S, None)
    if limit_s is not None:
        stderr = item.config.stash[_STDERR]
        faulthandler.dump_traceback_later(limit_s + LAST_S, file=stderr, exit=True)
