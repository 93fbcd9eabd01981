"""Many clients that send at once: what they send, which probe drives them, what arrived.

On one machine a single probe enters the namespaces of all clients; elsewhere each client's host has
a probe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from culvert.labs.node import Enterable, Node
from culvert.measurements.streams.goodput import crossed_bps
from culvert.probe.client import Probe
from culvert.probe.results.crowd import MemberSent, MemberSunk
from culvert.probe.results.tcp import BytesInterval
from culvert.probe.results.udp import Forwarded, OneWayDelay
from culvert.results import Series
from culvert.topology.graph import Role
from culvert.trial.session import Session


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

    @property
    def between_clients(self) -> bool:
        return self.source.role is self.target.role is Role.CLIENT


@dataclass(frozen=True)
class Load:
    """What each client sends. ``rate_pps`` is a client's; None: as fast as it can. ``sizes`` are
    inner IP packets in bytes, in turn. Of TCP, bytes count after ``warmup_s``."""

    transport: Transport
    duration_s: float
    sizes: tuple[int, ...] = ()
    rate_pps: float | None = None
    on_off: Mapping[str, float | None] | None = None
    """``on_s`` and ``off_s``: mean lengths of the times in which a client sends and is silent."""
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
    forwarded: Forwarded = field(default_factory=Forwarded)
    """Of all clients as one stream: from the first packet of any to the last of any."""
    intervals: Sequence[BytesInterval] = ()
    """What arrived of all of them, since the load's beginning."""
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
    def forwarded_packets(self) -> int:
        """Packets that arrived while their client offered them, later than its fastest one."""
        return sum(one.sunk.forwarded.packets for one in self.carried)

    @property
    def unique(self) -> int:
        """Packets that arrived, duplicates counted once."""
        return sum(one.sunk.unique for one in self.carried)

    def goodput_bps(self, load: Load) -> list[float]:
        """Of each client, all in one time, so that their sum is the rate of all."""
        if load.transport is Transport.UDP:
            got = [one.sunk.forwarded.bytes for one in self.carried]
            total_bps = self.forwarded.bps
        else:
            got = [one.sunk.counted_bytes for one in self.carried]
            begin_ns, end_ns = round(1e9 * load.warmup_s), round(1e9 * load.lasting_s)
            total_bps = crossed_bps(self.intervals, begin_ns, end_ns) or 0.0
        return [total_bps * each / max(sum(got), 1) for each in got]

    @property
    def socket_drops(self) -> int:
        """Packets that full sockets of the sinks refused."""
        return sum(one.sunk.socket_drops or 0 for one in self.carried)


def forwarded_by_all(parts: Iterable[tuple[Forwarded, int]], offered_s: float) -> Forwarded:
    """What the sinks of all clients got, as one stream. Beside each is the moment, by its own
    clock, at which all began. From the first packet to the last there is one gap less than
    packets."""
    found = [(part, zero_ns) for part, zero_ns in parts if part.packets]
    packets = sum(part.packets for part, _ in found)
    begun_ns = min(((part.begun_ns or 0) - zero_ns for part, zero_ns in found), default=0)
    last_ns = max(((part.last_ns or 0) - zero_ns for part, zero_ns in found), default=0)
    needed_s = (last_ns - begun_ns) / 1e9 * packets / max(packets - 1, 1)
    return Forwarded(
        packets=packets,
        bytes=sum(part.bytes for part, _ in found),
        seconds=max(offered_s, needed_s),
        begun_ns=begun_ns,
        last_ns=last_ns,
    )
