"""Many clients that send at once: one probe drives all that it can reach, a thread or two of it.

On one machine a single probe enters the namespaces of all clients; elsewhere each client's host has
a probe, and all begin at one moment.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from culvert.errors import DeadlineExceeded
from culvert.exchange import Event
from culvert.labs.node import Enterable, Node
from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.probe.client import Probe, Task
from culvert.probe.results import parse
from culvert.probe.results.crowd import CrowdSent, CrowdSunk, MemberSent, MemberSunk
from culvert.probe.results.udp import OneWayDelay
from culvert.results import Series
from culvert.topology.graph import Role
from culvert.trial.session import Session

SLACK_S = 15.0
INTERVAL_MS = 100
LEAD_S = 0.5
"""From the request to the first packet: all sources are ready by then."""
LEAD_OF_CLIENT_S = 0.002
"""Longest time to make a client's socket, and to connect it."""


class Transport(StrEnum):
    """The protocol of the load."""

    UDP = "udp"
    TCP = "tcp"


@dataclass(frozen=True)
class Talk:
    """The traffic of one client, from its source to its target."""

    client: str
    source: Node
    target: Node


@dataclass(frozen=True)
class OnOff:
    """Mean lengths of the times in which a client sends and is silent, in seconds."""

    on_s: float
    off_s: float


@dataclass(frozen=True)
class Load:
    """What each client sends. ``rate_pps`` is a client's; None: as fast as it can. ``sizes`` are
    inner IP packets in bytes, in turn. Of TCP, bytes count after ``warmup_s``."""

    transport: Transport
    duration_s: float
    sizes: tuple[int, ...] = ()
    rate_pps: float | None = None
    on_off: OnOff | None = None
    warmup_s: float = 0.0
    congestion_control: str = "cubic"
    threads: int = 1
    segmentation: str = "auto"
    early: bool = False
    """The clients' addresses and routes may come later."""
    until_all: bool = False
    """The load ends when something has arrived of each client."""

    @property
    def lasting_s(self) -> float:
        """Warm-up included."""
        return self.warmup_s + self.duration_s


@dataclass(frozen=True)
class Carried:
    """What one client sent, and what arrived of it."""

    talk: Talk
    sent: MemberSent
    sunk: MemberSunk


@dataclass(frozen=True)
class Seat:
    """The probe that makes a node's sockets, and the file of the namespace in which it does."""

    probe: Probe
    netns: str | None = None


def inside(session: Session) -> Callable[[Node], str]:
    """A node's address inside the tunnels; of a host behind the gateway that on its network."""

    def address(node: Node) -> str:
        behind = node.role is Role.BEHIND
        return str(node.underlay.address.ip) if behind else session.inner(node)

    return address


class Seats:
    """The probes of the clients and the gateway; a context manager. Probes of clients that no
    other's probe reaches are opened for it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known = {**session.others, **session.ends}
        self._stack = ExitStack()

    def of(self, node: Node) -> Seat:
        """That of a node."""
        if node.name in self._known:
            return Seat(self._known[node.name])
        if isinstance(node, Enterable) and isinstance(self._session.source, Enterable):
            return Seat(self._session.a, node.namespace_file)
        probe = self._stack.enter_context(Probe(node))
        self._known[node.name] = probe
        return Seat(probe)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


@dataclass(frozen=True)
class CrowdTrial:
    """The result of one load. ``late_s`` is how late the last source began; ``length`` is that of
    all inner packets of UDP, None if they differ."""

    carried: list[Carried]
    length: int | None
    seconds: float
    late_s: float
    segmentation: str
    series: list[Series]
    one_way: OneWayDelay | None = None

    @property
    def offered(self) -> int:
        """Packets of UDP that were offered, those that a full queue refused included."""
        return sum(one.sent.offered for one in self.carried)

    @property
    def scheduled(self) -> int | None:
        """Packets in the schedules; None without a rate."""
        counts = [one.sent.scheduled for one in self.carried]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def unique(self) -> int:
        """Packets that arrived, duplicates counted once."""
        return sum(one.sunk.unique for one in self.carried)

    @property
    def socket_drops(self) -> int:
        """Packets that full sockets of the sinks refused."""
        return sum(one.sunk.socket_drops or 0 for one in self.carried)


class CrowdRun:
    """One load: the targets listen from the beginning, the sources send from start() on."""

    def __init__(
        self,
        session: Session,
        seats: Seats,
        talks: Sequence[Talk],
        load: Load,
        address: Callable[[Node], str],
        quiet_ms: int,
    ) -> None:
        """``address`` is the node's inside the tunnel, or beside it."""
        self._session = session
        self._talks = talks
        self._load = load
        self._address = address
        self._seats = seats
        lead_s = LEAD_S + LEAD_OF_CLIENT_S * len(talks)
        self._lead_ns = round(1e9 * lead_s)
        self._start_ns = {node.name: node.monotonic_ns() + self._lead_ns for node in self._ends}
        self._deadline_s = lead_s + load.lasting_s + SLACK_S
        self._sinks = self._listen(quiet_ms)
        self._ports = self._await_ports()
        self._sources: list[tuple[Task, list[int]]] = []

    @property
    def _ends(self) -> list[Node]:
        nodes = {node.name: node for talk in self._talks for node in (talk.source, talk.target)}
        return list(nodes.values())

    def _groups(self, node: Callable[[Talk], Node]) -> list[tuple[Probe, list[int]]]:
        """Numbers of talks by the probe that has their sockets."""
        found: dict[int, tuple[Probe, list[int]]] = {}
        for number, talk in enumerate(self._talks):
            probe = self._seats.of(node(talk)).probe
            found.setdefault(id(probe), (probe, []))[1].append(number)
        return list(found.values())

    def _listen(self, quiet_ms: int) -> list[tuple[Task, list[int]]]:
        tasks = []
        for probe, numbers in self._groups(lambda talk: talk.target):
            targets = [self._talks[number].target for number in numbers]
            begun_ns = self._start_ns[targets[0].name] + round(1e9 * self._load.warmup_s)
            window = (begun_ns, begun_ns + round(1e9 * self._load.duration_s))
            task = probe.begin(
                "crowd_sink",
                protocol=self._load.transport,
                members=[self._member(node) for node in targets],
                threads=min(self._load.threads, len(numbers)),
                interval_ms=INTERVAL_MS,
                duration_max_s=self._deadline_s,
                quiet_ms=quiet_ms,
                clock="shared" if self._session.lab.shared_kernel else "separate",
                window_ns=window,
                until_all=self._load.until_all,
                **self._session.marks,
            )
            tasks.append((task, numbers))
        return tasks

    def _member(self, node: Node) -> dict[str, Any]:
        return {"netns": self._seats.of(node).netns, "bind": self._address(node)}

    def _await_ports(self) -> dict[int, int]:
        ports: dict[int, int] = {}
        for task, numbers in self._sinks:
            ready = task.ready(self._deadline_s)
            ports |= dict(zip(numbers, ready["ports"], strict=True))
        return ports

    def start(self) -> Self:
        """Returns when the first packet is due."""
        load = self._load
        for probe, numbers in self._groups(lambda talk: talk.source):
            members = [
                {
                    **self._member(self._talks[number].source),
                    "to": self._address(self._talks[number].target),
                    "port": self._ports[number],
                }
                for number in numbers
            ]
            task = probe.begin(
                "crowd_source",
                protocol=load.transport,
                members=members,
                threads=min(load.threads, len(numbers)),
                start_ns=self._start_ns[self._talks[numbers[0]].source.name],
                duration_s=load.lasting_s,
                **self._kind(),
                **self._session.marks,
            )
            self._sources.append((task, numbers))
        late_ns = []
        for task, numbers in self._sources:
            began_ns = task.ready(self._deadline_s)["started_ns"]
            late_ns.append(began_ns - self._start_ns[self._talks[numbers[0]].source.name])
        # One source of UDP begins when it can; several begin together, of TCP a time is counted.
        alone = len(late_ns) == 1 and load.transport is Transport.UDP
        self._late_s = 0.0 if alone else max(late_ns) / 1e9
        first = self._talks[0].source
        left_ns = self._start_ns[first.name] - first.monotonic_ns()
        time.sleep(max(left_ns, 0) / 1e9)  # part of the method: all begin together
        return self

    def _kind(self) -> dict[str, Any]:
        load = self._load
        if load.transport is Transport.TCP:
            return {"congestion_control": load.congestion_control}
        payloads = [size - UDP_HEADERS for size in load.sizes]
        on_off = load.on_off and {"on_s": load.on_off.on_s, "off_s": load.on_off.off_s}
        return {
            "payload_size": payloads[0] if len(payloads) == 1 else payloads,
            "rate_pps": load.rate_pps,
            "on_off": on_off,
            "segmentation": load.segmentation,
            "early": load.early,
            "seed": self._session.lab.spec.link.seed % (1 << 48),
        }

    def finish(self) -> CrowdTrial:
        """Wait until the last packet is sent, then until the last one has arrived."""
        sources = [task.result(self._deadline_s) for task, _ in self._sources]
        return self._trial(sources, [task.stop(SLACK_S) for task, _ in self._sinks])

    def stop(self) -> CrowdTrial:
        """End it now."""
        sources = [task.stop(SLACK_S) for task, _ in self._sources]
        return self._trial(sources, [task.stop(SLACK_S) for task, _ in self._sinks])

    def until_all(self, deadline_s: float) -> CrowdTrial:
        """End it when something has arrived of each client, or after a time."""
        sinks = []
        for task, _ in self._sinks:
            try:
                sinks.append(task.result(deadline_s))
            except DeadlineExceeded:
                sinks.append(task.stop(SLACK_S))
        return self._trial([task.stop(SLACK_S) for task, _ in self._sources], sinks)

    def _trial(self, sources: Sequence[Event], sinks: Sequence[Event]) -> CrowdTrial:
        sent: dict[int, MemberSent] = {}
        sunk: dict[int, MemberSunk] = {}
        seconds, segmentation = 0.0, "none"
        for (_, numbers), answer in zip(self._sources, sources, strict=True):
            result = parse(CrowdSent, answer)
            sent |= dict(zip(numbers, result.members, strict=True))
            seconds = max(seconds, (result.last_ns - result.first_ns) / 1e9)
            segmentation = result.segmentation
        arrived: defaultdict[int, int] = defaultdict(int)
        one_way = None
        for (_, numbers), answer in zip(self._sinks, sinks, strict=True):
            got = parse(CrowdSunk, answer)
            sunk |= dict(zip(numbers, got.members, strict=True))
            first_ns = got.intervals[0].t_ns if got.intervals else 0
            for interval in got.intervals:
                arrived[interval.t_ns - first_ns] += interval.bytes
            one_way = got.one_way
        times_ns = sorted(arrived)
        return CrowdTrial(
            [Carried(talk, sent[n], sunk[n]) for n, talk in enumerate(self._talks)],
            self._load.sizes[0] if len(self._load.sizes) == 1 else None,
            seconds,
            self._late_s,
            segmentation,
            [Series("received_bytes", "bytes", times_ns, [arrived[t] for t in times_ns])],
            one_way if len(self._sinks) == 1 else None,
        )
