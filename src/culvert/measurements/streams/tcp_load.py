"""TCP connections in one direction, as fast as possible: to be measured, or as a load."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from culvert.measurements.streams.goodput import goodput_bps
from culvert.measurements.streams.socket_buffers import granted
from culvert.measurements.streams.tcp_packets import inner_traffic
from culvert.measurements.streams.udp_stream import SLACK_S
from culvert.probe.results import TcpSource, TcpSunk, parse
from culvert.trial.check import Check
from culvert.trial.session import Session
from culvert.trial.traffic import InnerTraffic, turned

WRITE_BYTES = 131072
INTERVAL_MS = 100


class FlowDirection(StrEnum):
    """Direction of the data: up is from node a to node b."""

    UP = "up"
    DOWN = "down"
    BOTH = "both"


@dataclass(frozen=True)
class TcpStreams:
    """Connections of one kind: ``streams`` in each direction. ``write_size`` is in bytes;
    ``socket_buffer_bytes`` are setsockopt's, None: the kernel grows buffers."""

    duration_s: float
    direction: FlowDirection = FlowDirection.UP
    streams: int = 1
    congestion_control: str = "cubic"
    write_size: int = WRITE_BYTES
    nodelay: bool = False
    socket_buffer_bytes: int | None = None

    @property
    def ways(self) -> tuple[bool, ...]:
        """One value for each direction: True if it is from a to b."""
        ways = {
            FlowDirection.UP: (True,),
            FlowDirection.DOWN: (False,),
            FlowDirection.BOTH: (True, False),
        }
        return ways[self.direction]


@dataclass(frozen=True)
class Loaded:
    """What the connections of one direction carried. ``upward`` is from a to b."""

    upward: bool
    sent: TcpSource
    sunk: TcpSunk

    @property
    def way(self) -> str:
        """The name that studies and metrics use."""
        return FlowDirection.UP if self.upward else FlowDirection.DOWN

    @property
    def traffic(self) -> InnerTraffic:
        found = inner_traffic(self.sent, self.sunk)
        return found if self.upward else turned(found)

    @property
    def goodput_bps(self) -> float:
        """Bit/s that the receiving application read."""
        return goodput_bps(self.sunk, 0.0)

    def buffered(self, requested_bytes: int | None) -> Sequence[Check]:
        """Whether the sockets had the requested buffers."""
        sent, sunk = self.sent.send_buffer_effective, self.sunk.receive_buffer_effective
        return granted(requested_bytes, sent, sunk)

    @property
    def by_stream(self) -> list[int]:
        return [stream.bytes for stream in self.sunk.streams] or [self.sunk.bytes]


class TcpLoad:
    """The connections of one direction; they run from construction on for the requested time."""

    def __init__(
        self, session: Session, streams: TcpStreams, *, upward: bool, to: str | None = None
    ) -> None:
        """``to`` is the far node's address inside the tunnel, unless given."""
        self._upward = upward
        self._duration_s = streams.duration_s
        source, sink, far = session.a, session.b, session.target
        if not upward:
            source, sink, far = session.b, session.a, session.source
        address = to or session.inner(far)
        self._sink = sink.begin(
            "tcp_sink",
            bind=address,
            duration_max_s=streams.duration_s + SLACK_S,
            interval_ms=INTERVAL_MS,
            streams=streams.streams,
            receive_buffer=streams.socket_buffer_bytes,
            **session.marks,
        )
        self._source = source.begin(
            "tcp_source",
            connect=address,
            port=self._sink.port(),
            streams=streams.streams,
            duration_s=streams.duration_s,
            congestion_control=streams.congestion_control,
            write_size=streams.write_size,
            nodelay=streams.nodelay,
            send_buffer=streams.socket_buffer_bytes,
            interval_ms=INTERVAL_MS,
            **session.marks,
        )
        self._source.ready()

    def finish(self) -> Loaded:
        sent = parse(TcpSource, self._source.result(self._duration_s + SLACK_S))
        return Loaded(self._upward, sent, parse(TcpSunk, self._sink.result(SLACK_S)))


def controlled(used: Collection[str], requested: str) -> Check:
    """Whether all connections had the requested congestion control."""
    return Check(
        "congestion control",
        set(used) == {requested},
        f"the kernel used {', '.join(sorted(used))}",
        "load the kernel module of the congestion control that the study requests",
    )
