"""The observations around the timed part of a measurement.

::

    capture starts ── accounting starts ── [the measurement] ── accounting ends ── capture ends

A capture of the packets that the link carries towards each node, and on each node the accounting of
CPU, context switches, memory and drops.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from culvert.labs.base import Handed
from culvert.probe.client import Probe, Task
from culvert.probe.results import Accounted, Captured, parse
from culvert.topology.graph import Role
from culvert.trial.accounting import (
    Everybody,
    begin_accounting,
    foreign_s,
    sees_the_machine,
)
from culvert.trial.outside import View
from culvert.vpns.abilities import CountingRoutes
from culvert.vpns.variant import RouteCount

if TYPE_CHECKING:
    from culvert.trial.session import Session


@dataclass(frozen=True)
class NodeWatch:
    """Observations at one node: its accounting, and the packets that the link carried towards it;
    with a wire also the packets that the node handed to it."""

    accounted: Accounted
    captured: Captured
    handed: Handed | None = None


@dataclass
class Watched:
    """Both ends of the path by name, the source first, and the duration; for other nodes (servers,
    relays, routers, other members) the accounting."""

    nodes: dict[str, NodeWatch]
    seconds: float
    others: dict[str, Accounted] = field(default_factory=dict)
    sent: dict[str, RouteCount] = field(default_factory=dict)
    """Packets that the VPN's programs at both ends have sent, by their own counters; empty if they
    count none."""

    @property
    def accounted(self) -> dict[str, Accounted]:
        """The accounting of both ends, by node."""
        return {name: node.accounted for name, node in self.nodes.items()}


class Watcher:
    """Starts and ends captures at both ends of a path, and accounting on all nodes with a probe."""

    def __init__(self, session: Session[Any]) -> None:
        self._vpn = session.vpn
        self._lab = session.lab
        self._ends = session.ends
        self._others = session.others
        self._outside = session.outside

    @contextmanager
    def watch(self, *, sample_one_in: int, marked_run: int) -> Iterator[Watched]:
        """Watch the body; the Watched is filled when the body has ended.

        All packets are searched for the canary. ``sample_one_in`` 1 captures each packet; 64 one in
        64, chosen at random. Each packet of the body's payload has ``marked_run`` bytes of the
        canary in a row.
        """
        watched = Watched({}, 0.0)
        captures = {
            name: self._outside.begin(
                name, View.TOWARDS, sample_one_in=sample_one_in, marked_run=marked_run, record=0
            )
            for name in self._ends
        }
        for capture in captures.values():
            capture.ready()
        handed = self._handed()
        everybody = self._everybody()
        sent = self._sent()
        accounts = self._begin_accounting(beside=True)
        begun = time.monotonic()
        yield watched
        watched.seconds = time.monotonic() - begun
        accounted = self._end(accounts)
        self._beside(accounted, everybody)
        watched.sent = {name: now.since(sent[name]) for name, now in self._sent().items()}
        passed = {name: now.since(handed[name]) for name, now in self._handed().items()}
        for name in self._ends:
            seen = captures[name].end()
            watched.nodes[name] = NodeWatch(accounted[name], seen, passed.get(name))
        watched.others |= {name: accounted[name] for name in self._others}

    @contextmanager
    def account(self) -> Iterator[dict[str, Accounted]]:
        """Only account for both ends; the result is filled by node when the body has ended."""
        found: dict[str, Accounted] = {}
        everybody = self._everybody()
        accounts = self._begin_accounting()
        yield found
        accounted = self._end(accounts)
        self._beside(accounted, everybody)
        found |= {name: accounted[name] for name in self._ends}

    @property
    def _local(self) -> bool:
        return self._lab.shared_processes and not self._lab.real_links

    def _everybody(self) -> dict[str, Everybody]:
        """On one node of each kernel."""
        ends = list(self._ends.items())
        kernels = ends[:1] if self._lab.shared_kernel else ends
        return {name: Everybody(probe, local=self._local) for name, probe in kernels}

    def _beside(self, accounted: dict[str, Accounted], everybody: dict[str, Everybody]) -> None:
        """What others used on each kernel; all processes beside the source's own."""
        vpn = {
            name: frozenset(one.pid for one in node.processes) for name, node in accounted.items()
        }
        all_pids = frozenset().union(*vpn.values())
        first = next(iter(self._ends))
        for name, all_of_them in everybody.items():
            found = all_of_them.end()
            changes: dict[str, object] = {}
            if (cpus := all_of_them.outside_cpus()) is not None:
                changes["foreign_s"] = cpus * accounted[name].seconds
            elif sees_the_machine(found):
                own = all_pids if self._lab.shared_kernel else vpn[name]
                changes["foreign_s"] = self._foreign_s(found, own, accounted[name])
            if name == first:
                changes["processes"] = [*accounted[name].processes, *found.processes]
            accounted[name] = accounted[name].model_copy(update=changes)

    def _foreign_s(self, everybody: Accounted, own: frozenset[int], node: Accounted) -> float:
        used = foreign_s(everybody, own)
        if node.probe is not None and not self._local:
            used = max(used - node.probe.run_ns / 1e9, 0.0)  # it has no known ancestor there
        return used

    def _sent(self) -> dict[str, RouteCount]:
        vpn = self._vpn
        if not isinstance(vpn, CountingRoutes):
            return {}
        counts = {name: vpn.sent(self._lab.nodes[name]) for name in self._ends}
        return {name: count for name, count in counts.items() if count is not None}

    def _handed(self) -> dict[str, Handed]:
        """By node, where the link counts."""
        counts = {name: self._lab.handed(self._lab.nodes[name]) for name in self._ends}
        return {name: count for name, count in counts.items() if count is not None}

    def _begin_accounting(self, *, beside: bool = False) -> dict[str, Task]:
        """The source's accounting begins first and ends last: on a shared kernel its time of the
        whole machine then covers the other nodes' use. ``beside``: packets at both ends that are
        not the lab's are counted as well."""
        tasks = {}
        for name, probe in {**self._ends, **self._others}.items():
            tasks[name] = self._account_on(name, probe, beside=beside and name in self._ends)
            if len(tasks) == 1:
                tasks[name].ready()
        for task in list(tasks.values())[1:]:
            task.ready()
        return tasks

    def _account_on(self, name: str, probe: Probe, *, beside: bool) -> Task:
        node = self._lab.nodes[name]
        devices = [node.underlay.device]
        if node.role in (Role.ROUTER, Role.GATEWAY):
            devices = [attachment.device for attachment in self._lab.attachments(name)]
        if node.role is not Role.ROUTER:
            inner = [one for one in self._vpn.interfaces(node) if one not in devices]
            # A tunnel that is not up yet has no interface.
            devices += [one for one in inner if node.link(one) is not None]
        threads = ["ksoftirqd/.*", *self._vpn.kernel_threads]
        if node.role is Role.ROUTER and self._lab.shared_kernel:
            threads = []  # the source's accounting has them
        others = self._outside.beside(name) if beside else None
        return begin_accounting(
            probe,
            self._vpn.processes[name],
            devices,
            threads,
            beside=others,
            node_init=node.init(),
        )

    def _end(self, tasks: dict[str, Task]) -> dict[str, Accounted]:
        """The first to begin ends last."""
        ended = {}
        for name in reversed(tasks):
            ended[name] = parse(Accounted, tasks[name].stop()).of_the_lab()
        return {name: ended[name] for name in tasks}
