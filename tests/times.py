"""Where the time of the tests went: set-up, test and tear-down, by folder."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import PurePath

import pytest

LEAST_S = 1.0


class Times:
    """Seconds and numbers of tests by folder."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.tests: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One phase of a test, repetitions too."""
        folder = folder_of(report.nodeid)
        self.seconds[folder] += report.duration
        self.tests[folder] += report.when == "call"

    def lines(self) -> list[str]:
        """The folders that took longest first."""
        return [
            f"{seconds:7.0f} s {self.tests[folder]:6d} tests  {folder}"
            for seconds, folder in sorted(((s, f) for f, s in self.seconds.items()), reverse=True)
            if seconds >= LEAST_S
        ]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Sums over all workers."""
        if lines := self.lines():
            terminalreporter.section("time by folder, over all workers")
            terminalreporter.write_line("\n".join(lines))


def folder_of(nodeid: str) -> str:
    """At most two folders deep, ``tests/labs/hosts``."""
    return "/".join(PurePath(nodeid.partition("::")[0]).parent.parts[:3])


def pytest_configure(config: pytest.Config) -> None:
    """Where all reports are seen."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Times())
