"""Moments of two hosts, each with a clock of its own, are compared by one of them."""

from __future__ import annotations

import time
from unittest.mock import Mock

import pytest

from culvert.labs.node import Node
from culvert.measurements.clocks import ahead_ns, by_clock_of
from culvert.measurements.tunnel.cycle import _command_ns
from culvert.measurements.tunnel.starts import STARTS, Start
from culvert.trial.session import Session

HERE_NS, SOURCE_NS, TARGET_NS = 1_000, 5_000_000, 70_000
STARTED_NS = {"a": SOURCE_NS - 300, "b": TARGET_NS - 300}


def node(name: str, now_ns: int) -> Node:
    found: Node = Mock(monotonic_ns=lambda: now_ns)
    found.name = name
    return found


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setattr(time, "monotonic_ns", lambda: HERE_NS)
    found: Session = Mock(source=node("a", SOURCE_NS), target=node("b", TARGET_NS))
    found.lab.shared_kernel = False
    found.vpn.processes = {
        name: [Mock(started_monotonic_ns=at_ns)] for name, at_ns in STARTED_NS.items()
    }
    return found


def test_another_hosts_moment_is_by_ones_own_clock(session: Session) -> None:
    assert ahead_ns(session, session.target) == TARGET_NS - HERE_NS
    assert by_clock_of(session.source, session, session.target, TARGET_NS - 300) == SOURCE_NS - 300
    assert by_clock_of(session.source, session, session.source, 7) == 7


@pytest.mark.parametrize("start", [Start.COLD, Start.RESTART_SELF, Start.RESTART_PEER])
def test_an_initiation_counts_by_the_clock_of_its_answers(session: Session, start: Start) -> None:
    assert _command_ns(session, STARTS[start](), Mock(), 0) == SOURCE_NS - 300


def test_nodes_of_one_kernel_have_one_clock(session: Session) -> None:
    session.lab.shared_kernel = True
    assert by_clock_of(session.source, session, session.target, 7) == 7
