"""Fixtures that every test may use."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from enum import StrEnum
from pathlib import Path

import pytest
from hypothesis import settings

from culvert import commands as cli
from culvert import tools
from culvert.labs.netns.lab import NetnsLab
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec
from tests.cli import Cli, Said
from tests.quiet import beside_others

# A loaded machine is slow: that is no defect of the code under test.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

# A shell's background job ignores SIGINT, nohup's SIGHUP; so would what the tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# With it Python's output is not buffered: at a user's, what a full disk refused is tried again.
os.environ.pop("PYTHONUNBUFFERED", None)

# Those that come later begin earlier: a test's time begins when it has the machine.
pytest_plugins = ("tests.deadline", "tests.outcomes", "tests.repeated", "tests.times")

LabFactory = Callable[..., NetnsLab]


class Group(StrEnum):
    """Tests that come one by one; the groups that last longest first. All other tests of a file are
    one group as well, so that what its fixtures start is started once."""

    GUEST = "guest"
    MEASURING = "measuring"
    ROUNDS = "rounds"
    CLUSTER = "cluster"


MEASURING = {"features", "measurements", "run", "soak", "trial"}
"""Folders of tests that measure: the processors are theirs first."""
NICENESS = -10
"""Theirs: all others give way to them, and to nobody else on a busy machine."""


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a lab where none can be made; group the tests for several workers."""
    reason = _no_lab()
    groups = {item: _group(item) for item in items}
    for item, group in groups.items():
        if reason and _in_a_lab(item):
            item.add_marker(pytest.mark.skip(reason=reason))
        item.add_marker(pytest.mark.xdist_group(group or _place(item).as_posix()))
    files_of_labs = {item.path for item in items if _in_a_lab(item)}
    order = [*Group, None]
    items.sort(
        key=lambda item: (
            order.index(groups[item]),
            item.path not in files_of_labs,
            # At the end of its group: the first tests of other workers are the longest.
            item.get_closest_marker("alone") is not None,
        )
    )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Raise an error if xdist has not understood the groups."""
    if beside_others() and any("@" not in item.nodeid for item in session.items):
        raise pytest.UsageError("pytest-xdist did not take the groups of tests: see its version")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Of several workers, those that do not measure give way to the one that does."""
    if beside_others() and os.geteuid() == 0:
        measuring = _group(item) is Group.MEASURING
        with suppress(PermissionError):  # root of a container may not
            os.setpriority(os.PRIO_PROCESS, 0, NICENESS if measuring else 0)


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Call ``main`` in this process, without a PID namespace of its own: quicker than a process for
    each command."""
    monkeypatch.setattr("culvert.machine.rootless.enter", lambda **_: None)

    def call(*words: str | Path) -> Said:
        monkeypatch.setattr(sys, "argv", ["culvert", *map(str, words)])
        monkeypatch.setattr("culvert.interruption.signal.signal", lambda *_: None)
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


@pytest.fixture
def killing() -> Iterator[None]:
    """For tests that leave a run whose owner was killed, look for such runs or clean up after them:
    of several workers one at a time, for what is left belongs to nobody."""
    with Path(__file__).open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _in_a_lab(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("lab", "vpn"))


def _group(item: pytest.Item) -> Group | None:
    if item.get_closest_marker("guest"):
        return Group.GUEST
    folder, *rest = _place(item).parts
    if folder in MEASURING and len(rest) == 1 and _in_a_lab(item):
        return Group.MEASURING
    if "embedded" in rest:
        return Group.CLUSTER
    return Group.ROUNDS if item.path.name == "test_rounds.py" else None


def _place(item: pytest.Item) -> Path:
    return item.path.relative_to(Path(__file__).parent)


def _no_lab() -> str | None:
    if os.geteuid() != 0:
        return "a lab needs root"
    if tools.find("culvert-probe") is None:
        return "a lab needs culvert-probe: run `make setup`"
    return None
