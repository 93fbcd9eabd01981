"""Clients that connect, all at once or one after another, and what becomes of their packets."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from culvert.errors import VpnError
from culvert.labs.node import Node
from culvert.measurements.gateway import proof
from culvert.measurements.gateway.crowd import Carried, CrowdTrial
from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.probe.client import Task
from culvert.probe.results import Accounted
from culvert.results import Metric, Series
from culvert.topology.link.spec import ETHERNET_HEADER
from culvert.trial.accounting import begin_accounting, cpu_s, peak_bytes
from culvert.trial.check import Check
from culvert.trial.session import Session
from culvert.vpns.abilities import enter
from culvert.vpns.base import length_on_underlay
from culvert.vpns.lifecycle import seldom


@dataclass(frozen=True)
class Pace:
    """A client begins to connect every ``period_s``, and leaves ``stay_s`` after it is connected;
    None: it stays."""

    period_s: float = 0.0
    stay_s: float | None = None


@dataclass
class Attempts:
    """When each client began to connect (CLOCK_MONOTONIC), how late it was, and why clients failed;
    by name."""

    begun_ns: dict[str, int] = field(default_factory=dict)
    late_s: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


ALL_AT_ONCE = Pace()


def connect(
    session: Session, nodes: Sequence[Node], deadline_s: float, pace: Pace = ALL_AT_ONCE
) -> Attempts:
    """Returns when all are connected or have failed, and those that do not stay have left."""
    attempts = Attempts()
    if not nodes:
        return attempts
    vpn = session.vpn
    vpn.up_deadline_s = max(vpn.up_deadline_s, deadline_s)
    begun_s = time.monotonic()

    def come_and_go(node: Node, due_s: float) -> None:
        time.sleep(max(due_s - time.monotonic(), 0))  # part of the method
        attempts.late_s[node.name] = time.monotonic() - due_s
        attempts.begun_ns[node.name] = session.target.monotonic_ns()
        enter(vpn, node)
        if pace.stay_s is not None:
            time.sleep(pace.stay_s)
            vpn.leave(node)

    together = len(nodes) if not pace.period_s else 1
    with seldom(vpn, together), ThreadPoolExecutor(len(nodes)) as pool:
        tried: dict[Future[None], str] = {
            pool.submit(come_and_go, node, begun_s + number * pace.period_s): node.name
            for number, node in enumerate(nodes)
        }
        wait(tried)
    for future, name in tried.items():
        error = future.exception()
        if isinstance(error, VpnError):
            attempts.failed[name] = str(error)
        elif error is not None:
            raise error
    return attempts


def kept_pace(attempts: Attempts, pace: Pace) -> Check:
    """The clients came when they were due."""
    latest_s = max(attempts.late_s.values(), default=0.0)
    return Check(
        "clients came at their rate",
        latest_s <= proof.LATEST_S,
        f"one every {pace.period_s:.3g} s; the latest began {latest_s:.3f} s late",
        "the machine is too slow to start so many clients: lower churn",
    )


@dataclass(frozen=True)
class Storm:
    """What happened. ``event_ns`` is the event itself; ``attempts`` are empty if the clients did
    not start, but connected again by themselves. ``steady`` are clients that were connected before.
    ``control_bytes`` are None if they are not known.
    """

    event_ns: int
    attempts: Attempts
    stormed: CrowdTrial
    steady: CrowdTrial | None
    used: Accounted
    control_bytes: float | None

    def _up(self) -> Iterator[tuple[Carried, int]]:
        for one in self.stormed.carried:
            first_ns = one.sunk.first_ns
            if first_ns is not None and one.talk.client not in self.attempts.failed:
                yield one, first_ns

    @property
    def failed(self) -> Sequence[str]:
        """Clients of which nothing arrived, or whose start failed."""
        up = {one.talk.client for one, _ in self._up()}
        return [one.talk.client for one in self.stormed.carried if one.talk.client not in up]

    def metrics(self, pace: Pace) -> Iterator[Metric]:
        """Times are from the event; of clients that come one after another, from the beginning of
        each."""
        since_s = self._since_s()
        begun_ns: Mapping[str, int] = self.attempts.begun_ns if pace.period_s else {}
        ordered = sorted(
            max(first_ns - begun_ns.get(one.talk.client, self.event_ns), 0) / 1e9
            for one, first_ns in self._up()
        )
        yield Metric("storm_clients", "clients", len(ordered))
        yield Metric("failed_clients", "clients", len(self.failed))
        if ordered:
            for name, percent in (("half_up_s", 50), ("p99_up_s", 99), ("all_up_s", 100)):
                yield Metric(name, "s", until(percent, ordered))
            yield Metric(
                "sessions_per_s", "1/s", sessions_per_s(since_s, steady=bool(pace.period_s))
            )
            if self.control_bytes is not None:
                control_bytes = self.control_bytes / len(ordered)
                yield Metric("control_bytes_per_client", "bytes", control_bytes)
        if self.steady is not None:
            offered = self.steady.offered
            lost = max(offered - self.steady.unique, 0)
            yield Metric("established_loss_ratio", "1", lost / max(offered, 1))
            yield Metric("established_goodput_bps", "bit/s", self.steady.forwarded.bps)
        if self.used.processes:
            memory = peak_bytes(self.used.processes)
            yield Metric("gateway_storm_cpu_s", "s", cpu_s(self.used.processes))
            yield Metric("gateway_storm_memory_bytes", "bytes", memory)

    def series(self) -> Series:
        """How many clients had come up, over time."""
        times_ns = [round(1e9 * up_s) for up_s in self._since_s()]
        return Series("clients_up", "clients", times_ns, list(range(1, len(times_ns) + 1)))

    def _since_s(self) -> list[float]:
        return sorted(max(first_ns - self.event_ns, 0) / 1e9 for _, first_ns in self._up())


def until(percent: int, since_s: Sequence[float]) -> float:
    """Until at least this part of all sessions is up; the times are in order."""
    return since_s[-(-percent * len(since_s) // 100) - 1]


def sessions_per_s(since_s: Sequence[float], *, steady: bool) -> float:
    """Of a storm over its whole time; of a steady rate between the first and the last one."""
    if steady and len(since_s) > 1:
        return (len(since_s) - 1) / max(since_s[-1] - since_s[0], 1e-9)
    return len(since_s) / max(since_s[-1], 1e-9)


def account(session: Session, gateway: Node) -> Task:
    """Begin to account the gateway's processes and its link."""
    processes = session.vpn.processes[gateway.name]
    task = begin_accounting(session.b, processes, [gateway.underlay.device])
    task.ready()
    return task


def control_bytes(
    session: Session, gateway: Node, used: Accounted, trials: Sequence[CrowdTrial]
) -> float:
    """What the gateway's link carried beside the clients' packets."""
    device = used.counts(gateway.underlay.device)
    data = 0
    for trial in trials:
        length = trial.length or 0
        outer = length_on_underlay(session.vpn, length) or length + UDP_HEADERS
        data += sum(one.sunk.packets for one in trial.carried) * (outer + ETHERNET_HEADER)
    return max(float(device.rx_bytes + device.tx_bytes - data), 0.0)
