"""Beside other workers a test is repeated that found a trial invalid for want of processor time.

The last two attempts have the machine alone: other workers end their test and wait with the next.
Tests that are marked ``alone`` have it at once.
What fails even then is an error, unless programs outside of the tests are measured to use the
processors and sender, receiver or wire say that they were late. Then it is skipped; of a hundred
tests one may be, and the run fails if there are more.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.quiet import OF_THE_MACHINE, MachineBusy, beside_others, busy, lateness

BESIDE, ALONE = 2, 2
"""Attempts beside other workers, and then with the machine alone: a hypervisor, too, takes
processors away for some milliseconds, seldom in both."""
ONE_OF = 100
_MOST_SHOWN = 300
Phase = Generator[None, object, object]

_LOCKS = "CULVERT_TEST_LOCKS"
"""The variable that names the folder of the locks that a run's workers share. Who waits for the
machine alone keeps the turn meanwhile."""
_LOCK = pytest.StashKey[BinaryIO]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each test may be repeated."""
    if beside_others():
        again = pytest.mark.flaky(reruns=BESIDE + ALONE - 1, only_rerun=[*OF_THE_MACHINE])
        for item in items:
            item.add_marker(again)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Phase:
    """Wait for the machine; a test's time begins afterwards (tests/deadline.py)."""
    if beside_others():
        locks = Path(os.environ[_LOCKS])
        with (locks / "turn").open("wb") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            machine = (locks / "machine").open("wb")
            alone = _attempt(item) > BESIDE or item.get_closest_marker("alone")
            fcntl.flock(machine, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        item.stash[_LOCK] = machine
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Phase:
    """Others may have it again."""
    try:
        return (yield)
    finally:
        if _LOCK in item.stash:
            item.stash[_LOCK].close()
            del item.stash[_LOCK]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip a test whose last attempt lacked processor time, too."""
    report = yield
    error = call.excinfo.value if call.excinfo is not None else None
    excused = isinstance(error, MachineBusy)
    if beside_others() and report.failed and _attempt(item) >= BESIDE + ALONE:
        late = lateness(str(error))
        if late is not None and busy():
            excused = True
            report.outcome = "skipped"
            where = (str(item.path), item.location[1] or 0)
            report.longrepr = (*where, f"Skipped: the machine stays busy: {late}")
    report.excused = excused  # type: ignore[attr-defined]
    return report


def _attempt(item: pytest.Item) -> int:
    return int(getattr(item, "execution_count", 0))  # of pytest-rerunfailures


class Excuses:
    """Counts them, in the process that sees all reports."""

    def __init__(self) -> None:
        self.tests = 0
        self.excused: list[str] = []
        self.repeated: list[tuple[str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One phase of a test."""
        outcome: str = report.outcome
        if outcome == "rerun":  # of rerunfailures
            reasons = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
            self.repeated.append((report.nodeid, " ".join(reasons[:1])[:_MOST_SHOWN]))
        self.tests += report.when == "call" and report.outcome in ("passed", "failed", "skipped")
        if getattr(report, "excused", False):
            self.excused.append(report.nodeid)

    @property
    def too_many(self) -> bool:
        """More than one of a hundred; one is never too many."""
        return len(self.excused) > max(1, self.tests // ONE_OF)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A run with too many of them is red."""
        if self.too_many and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """How many there were, and what was repeated."""
        for nodeid, reason in self.repeated:
            terminalreporter.write_line(f"REPEATED {nodeid}: {reason}")
        if self.excused:
            many = f"more than one of {ONE_OF}: the run fails" if self.too_many else "few enough"
            terminalreporter.write_line(
                f"{len(self.excused)} of {self.tests} tests lacked processor time ({many})",
                red=self.too_many,
            )


def pytest_configure(config: pytest.Config) -> None:
    """The workers' reports reach the process that started them."""
    config.addinivalue_line("markers", "alone: asserts figures that other workers would disturb")
    if not hasattr(config, "workerinput"):
        locks = tempfile.TemporaryDirectory(prefix="culvert-tests-")
        config.add_cleanup(locks.cleanup)
        os.environ[_LOCKS] = locks.name
        config.pluginmanager.register(Excuses())
