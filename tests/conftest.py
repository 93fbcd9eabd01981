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

from culvert import cli, tools
from culvert.labs.base import LabSpec
from culvert.labs.netns import NetnsLab
from culvert.runid import new_run_id
from tests.commands import Cli, Said

# A loaded machine is slow: that is no defect of the code under test.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

# A shell's background job ignores SIGINT, and so would what the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

LabFactory = Callable[..., NetnsLab]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a lab where none can be made."""
    reason = _no_lab()
    for item in items:
        if reason and (item.get_closest_marker("lab") or item.get_closest_marker("vpn")):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Call ``main`` in this process: quicker than a process for each command."""

    def call(*words: str | Path) -> Said:
        monkeypatch.setattr(sys, "argv", ["culvert", *map(str, words)])
        monkeypatch.setattr("culvert.cli.entry.signal.signal", lambda *_: None)
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


def _no_lab() -> str | None:
    if os.geteuid() != 0:
        return "a lab needs root"
    if tools.find("culvert-probe") is None:
        return "a lab needs culvert-probe: run `make setup`"
    return None
