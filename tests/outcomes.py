"""Which tests have passed and failed, in files that one run of pytest leaves for the next.

``--passed FILE`` adds the tests that passed, one a line; ``--failed FILE`` those that failed.
``--rest`` leaves out the tests in the file of ``--passed``; ``--only FILE`` those not in that file.
Write ``--passed=FILE``: a word apart would be the place of a test, until conftest.py is read.
"""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of this plugin."""
    group = parser.getgroup("outcomes")
    group.addoption("--passed", type=Path, metavar="FILE", help="Add tests that passed to FILE.")
    group.addoption("--failed", type=Path, metavar="FILE", help="Write tests that failed to FILE.")
    group.addoption("--only", type=Path, metavar="FILE", help="Run no tests but those in FILE.")
    group.addoption("--rest", action="store_true", help="Leave out the tests in --passed FILE.")


@pytest.hookimpl(tryfirst=True)  # before xdist adds groups to the names
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what has passed, or what is not to be run."""
    passed = read(config.getoption("passed")) if config.getoption("rest") else set()
    chosen = read(config.getoption("only")) if config.getoption("only") else None
    names = {item.nodeid for item in items} - passed
    names = names if chosen is None else names & chosen
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in names])
    items[:] = [item for item in items if item.nodeid in names]


class Outcomes:
    """Collects them in the process that sees all reports."""

    def __init__(self) -> None:
        self.passed: set[str] = set()
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One phase of a test; a failure of any is a failure of the test."""
        name = _without_group(report.nodeid)
        if report.failed:
            self.failed.add(name)
        elif report.passed and report.when == "call":
            self.passed.add(name)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write both files."""
        if passed := session.config.getoption("passed"):
            write(passed, read(passed) | (self.passed - self.failed))
        if failed := session.config.getoption("failed"):
            write(failed, self.failed)


def pytest_configure(config: pytest.Config) -> None:
    """Not in the workers."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Outcomes())


def read(file: Path) -> set[str]:
    """Names of tests; none if there is no file yet."""
    return set(file.read_text().splitlines()) if file.exists() else set()


def write(file: Path, names: set[str]) -> None:
    """One name a line, sorted."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{name}\n" for name in sorted(names)))


def _without_group(name: str) -> str:
    """xdist adds ``@`` and the group; an ``@`` of a parameter has ``]`` behind it."""
    before, _, group = name.rpartition("@")
    return before if before and not group.endswith("]") else name
