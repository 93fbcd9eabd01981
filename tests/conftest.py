"""Fixtures that every test may use."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings

from culvert import commands as cli
from culvert import tools
from culvert.labs.netns.lab import NetnsLab
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec
from tests.cli import Cli, Said

# A loaded machine is slow: that is no defect of the code under test.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

# A shell's background job ignores SIGINT, nohup's SIGHUP; so would what the tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

LabFactory = Callable[..., NetnsLab]


BESIDE = {
    "analysis",
    "bundle",
    "compare",
    "files",
    "journal",
    "plan",
    "report",
    "statistics",
    "study",
    "topology",
}
"""Folders of tests that leave the machine alone: these may run beside those that do not."""
NICENESS = 10
"""How much they give way to the others."""


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a lab where none can be made. What uses the machine comes one by one, what
    boots a guest as well; they begin, for they last longest."""
    reason = _no_lab()
    for item in items:
        if reason and _in_a_lab(item):
            item.add_marker(pytest.mark.skip(reason=reason))
        if item.get_closest_marker("guest"):
            item.add_marker(pytest.mark.xdist_group("guest"))
        elif _uses_machine(item):
            item.add_marker(pytest.mark.xdist_group("machine"))
    items.sort(key=lambda item: (not item.get_closest_marker("guest"), not _uses_machine(item)))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Of several workers, one with pure tests gives way to the one with the labs."""
    if "PYTEST_XDIST_WORKER" in os.environ and not _uses_machine(item):
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Call ``main`` in this process: quicker than a process for each command."""

    def call(*words: str | Path) -> Said:
        monkeypatch.setattr(sys, "argv", ["culvert", *map(str, words)])
        monkeypatch.setattr("culvert.commands.entry.signal.signal", lambda *_: None)
        with pytest.raises(SystemExit) as end:
            cli.main()
        told = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return Said(end.value.code, told.out, told.err)

    return call


@pytest.fixture
def lab() -> Iterator[LabFactory]:
    """Make open labs: ``lab()``, ``lab(LabSpec(...))``; all are closed at the end of the test."""
    with ExitStack() as stack:

        def make(spec: LabSpec | None = None, *, run_id: str | None = None) -> NetnsLab:
            made = NetnsLab(run_id or new_run_id(), spec or LabSpec())
            made.open()
            stack.callback(made.close)
            return made

        yield make


def _in_a_lab(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("lab", "vpn"))


def _uses_machine(item: pytest.Item) -> bool:
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    return _in_a_lab(item) or folder not in BESIDE


def _no_lab() -> str | None:
    if os.geteuid() != 0:
        return "a lab needs root"
    if tools.find("culvert-probe") is None:
        return "a lab needs culvert-probe: run `make setup`"
    return None
