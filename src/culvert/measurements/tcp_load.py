"""TCP connections that fill a tunnel while something else is measured."""

from __future__ import annotations

from dataclasses import dataclass

from culvert.labs.base import Node
from culvert.measurements.session import Session
from culvert.measurements.tcp_flows import inner_traffic
from culvert.measurements.traffic_sum import turned
from culvert.measurements.udp_trial import SLACK_S
from culvert.probe.client import Probe, Task
from culvert.probe.results import TcpSource, TcpSunk, parse
from culvert.proof.traffic import InnerTraffic

WRITE_BYTES = 131072
INTERVAL_MS = 100


@dataclass(frozen=True)
class Loaded:
    """What one connection carried. ``upward`` is a to b."""

    upward: bool
    sent: TcpSource
    sunk: TcpSunk

    @property
    def traffic(self) -> InnerTraffic:
        """For the proof."""
        found = inner_traffic(self.sent, self.sunk)
        return found if self.upward else turned(found)

    @property
    def goodput_bps(self) -> float:
        """Bits per second that the far application read."""
        seconds = ((self.sunk.last_ns or 0) - (self.sunk.first_ns or 0)) / 1e9
        return 8 * self.sunk.bytes / seconds if seconds > 0 else 0.0


class TcpLoad:
    """One connection, running from begin() on for the time asked."""

    def __init__(
        self, session: Session, *, upward: bool, duration_s: float, congestion_control: str
    ) -> None:
        self._upward = upward
        self._duration_s = duration_s
        source, _, sink, to = _ends(session, upward=upward)
        self._sink: Task = sink.begin(
            "tcp_sink",
            bind=session.inner(to),
            duration_max_s=duration_s + SLACK_S,
            interval_ms=INTERVAL_MS,
            **session.marks,
        )
        self._source: Task = source.begin(
            "tcp_source",
            connect=session.inner(to),
            port=self._sink.port(),
            duration_s=duration_s,
            congestion_control=congestion_control,
            write_size=WRITE_BYTES,
            nodelay=False,
            interval_ms=INTERVAL_MS,
            **session.marks,
        )
        self._source.ready()

    def finish(self) -> Loaded:
        """Wait for its end."""
        sent = parse(TcpSource, self._source.result(self._duration_s + SLACK_S))
        return Loaded(self._upward, sent, parse(TcpSunk, self._sink.result(SLACK_S)))


def _ends(session: Session, *, upward: bool) -> tuple[Probe, Node, Probe, Node]:
    up = (session.a, session.lab.a, session.b, session.lab.b)
    return up if upward else (up[2], up[3], up[0], up[1])
