"""CLOCK_MONOTONIC of nodes: one of all nodes of a kernel, another one on each host with its own."""

from __future__ import annotations

import time

from culvert.labs.node import Node
from culvert.trial.session import Session


def ahead_ns(session: Session, node: Node) -> int:
    """By how much a node's is ahead of this machine's, to half of a round trip."""
    if session.lab.shared_kernel:
        return 0
    before_ns = time.monotonic_ns()
    there_ns = node.monotonic_ns()
    return there_ns - (before_ns + time.monotonic_ns()) // 2


def by_clock_of(node: Node, session: Session, other: Node, at_ns: int) -> int:
    """A moment of another node's, by the clock of ``node``."""
    if node.name == other.name:
        return at_ns
    return at_ns - ahead_ns(session, other) + ahead_ns(session, node)
