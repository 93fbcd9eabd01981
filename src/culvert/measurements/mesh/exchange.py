"""Requests of each pair of members, from the moment when both have joined to the first answer."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from culvert.errors import ProbeError
from culvert.labs.node import Node
from culvert.measurements.streams.udp_stream import SLACK_S
from culvert.probe.client import Probe, Task
from culvert.probe.results import Accounted, FirstAnswer, parse
from culvert.topology.graph import Path
from culvert.trial.accounting import begin_accounting
from culvert.trial.session import Session
from culvert.vpns.abilities import pairs
from culvert.waiting import wait_until

NUDGE_S = 1.0
"""Longest wait for an answer of a pair that has exchanged packets already."""
_ECHO_S = 7200.0
"""Longer than both deadlines of the measurement."""


@dataclass
class Pair:
    """A pair, its requests, and the seconds from the command to the first answer."""

    path: Path
    begun_ns: int
    asking: Task
    exchanged_s: float | None = None


@dataclass
class _Member:
    node: Node
    echo: Task
    port: int
    account: Task
    """Of the VPN's processes, and of its interface before any request."""


@dataclass
class Exchange:
    """All pairs. ``begun_ns`` is the moment of the command, on this machine's CLOCK_MONOTONIC."""

    session: Session
    probes: Mapping[str, Probe]
    interval_s: float
    deadline_s: float
    begun_ns: int = 0
    _members: dict[str, _Member] = field(default_factory=dict)
    _pairs: list[Pair] = field(default_factory=list)

    def welcome(self, node: Node) -> None:
        """A member has joined: it answers, and exchanges packets with those who joined before."""
        session, probe = self.session, self.probes[node.name]
        vpn = session.vpn
        self._await_address(node)
        account = begin_accounting(probe, vpn.processes[node.name], [vpn.interface(node)])
        echo = probe.begin("echo", bind=session.inner(node), token=session.token, idle_s=_ECHO_S)
        account.ready()
        self._members[node.name] = _Member(node, echo, echo.port(), account)
        for path in pairs(vpn):
            ends = {path.source, path.target}
            if node.name in ends and ends <= self._members.keys():
                asking = self._ask(path, self.deadline_s)
                self._pairs.append(Pair(path, time.monotonic_ns(), asking))

    def _await_address(self, node: Node) -> None:
        """A member that was alone may get its address only after the first other has joined."""
        inner, vpn = self.session.vpn.inner(node), self.session.vpn

        def there() -> bool:
            link = node.link(vpn.interface(node))
            return link is not None and any(each.ip == inner.ip for each in link.addresses)

        wait_until(
            there,
            what=f"the address {inner.ip} on node {node.name}",
            deadline_s=self.deadline_s,
        )

    def answers(self) -> list[Pair]:
        """All pairs, when each has an answer or has reached the deadline.

        The time until a pair's requests begin is this machine's, their duration the source's: no
        clocks of two machines are compared.
        """
        for pair in self._pairs:
            answer = _answer(pair.asking, self.deadline_s)
            if answer is not None:
                lasted_ns = answer.answered_ns - answer.started_ns
                pair.exchanged_s = (pair.begun_ns - self.begun_ns + lasted_ns) / 1e9
        return self._pairs

    def nudge(self, paths: Iterable[Path]) -> None:
        """One more exchange of each pair: some VPNs look for a better route only with traffic."""
        asking = [self._ask(path, NUDGE_S) for path in paths]
        for task in asking:
            _answer(task, NUDGE_S)

    def await_again(self, path: Path) -> None:
        """Return when a pair exchanges packets (again), for the proof that follows: some VPNs end
        their sessions when the last members join. No error after the deadline."""
        _answer(self._ask(path, self.deadline_s), self.deadline_s)

    def end(self) -> dict[str, Accounted]:
        """End all; returns the accounting of each member."""
        for member in self._members.values():
            member.echo.stop()
        return {
            name: parse(Accounted, member.account.stop()) for name, member in self._members.items()
        }

    def _ask(self, path: Path, deadline_s: float) -> Task:
        nodes = self.session.lab.nodes
        return self.probes[path.source].begin(
            "first_answer",
            to=self.session.inner(nodes[path.target]),
            bind=self.session.inner(nodes[path.source]),
            port=self._members[path.target].port,
            interval_us=round(self.interval_s * 1e6),
            deadline_s=deadline_s,
            **self.session.marks,
        )


def _answer(task: Task, deadline_s: float) -> FirstAnswer | None:
    try:
        return parse(FirstAnswer, task.result(deadline_s + SLACK_S))
    except ProbeError:
        return None
