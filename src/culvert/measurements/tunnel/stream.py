"""Packets at a steady rate while a tunnel changes, and the first answer after a change."""

from __future__ import annotations

from culvert.errors import ProbeError
from culvert.labs.node import Node
from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.measurements.streams.udp_stream import SLACK_S, UdpTrial, quiet_ms
from culvert.probe.client import Task
from culvert.probe.results import FirstAnswer, UdpSource, UdpSunk, parse
from culvert.results import Series
from culvert.trial.session import Session

INTERVAL_MS = 10
_REQUEST_BYTES = 64
_REQUEST_TIMEOUT_MS = 1000


class SteadyStream:
    """Packets from one end of the path to the other; those that the kernel refused count as lost.

    ``packet_size`` is that of the inner IP packet in bytes. The sink waits from the start;
    ``begin`` sends the first packet.
    """

    def __init__(
        self,
        session: Session,
        sender: Node,
        receiver: Node,
        *,
        rate_pps: float,
        packet_size: int,
        lasting_s: float,
    ) -> None:
        self._session = session
        self._sender = session.ends[sender.name]
        self._to = session.inner(receiver)
        self._rate_pps = rate_pps
        self._packet_size = packet_size
        self._lasting_s = lasting_s
        self._source: Task | None = None
        self._sink = session.ends[receiver.name].begin(
            "udp_sink",
            bind=self._to,
            interval_ms=INTERVAL_MS,
            duration_max_s=lasting_s + SLACK_S,
            quiet_ms=quiet_ms(session, session.inner(session.target)),
            **session.marks,
        )
        self._port = self._sink.port()

    def begin(self) -> None:
        """The first packet is due now."""
        self._source = self._sender.begin(
            "udp_source",
            to=self._to,
            port=self._port,
            payload_size=self._packet_size - UDP_HEADERS,
            rate_pps=self._rate_pps,
            duration_s=self._lasting_s,
            **self._session.marks,
        )
        self._source.ready()

    def end(self) -> UdpTrial:
        """Stop sending, and wait for packets in transit."""
        assert self._source is not None  # begin() comes first
        sent = parse(UdpSource, self._source.stop())
        return UdpTrial(self._packet_size, sent, parse(UdpSunk, self._sink.stop()))


def begin_requests(session: Session, port: int, *, rate_pps: float, lasting_s: float) -> Task:
    """Requests from the source to an echo on the target's port, whose answers are not measured:
    some VPNs do nothing on a silent path."""
    stream = session.a.begin(
        "rtt",
        protocol="udp",
        to=session.inner(session.target),
        port=port,
        rate_pps=rate_pps,
        count=round(rate_pps * lasting_s),
        payload_size=_REQUEST_BYTES,
        timeout_ms=_REQUEST_TIMEOUT_MS,
        **session.marks,
    )
    stream.ready()
    return stream


def lost_packets(trial: UdpTrial) -> int:
    """Sequence numbers that did not arrive; the sender's kernel may have refused some."""
    used = trial.sent.packets + sum(trial.sent.send_errors.values())
    return max(used - trial.unique, 0)


def arrivals(sunk: UdpSunk, **labels: str) -> Series:
    """Packets received, over time."""
    return Series(
        "received_packets",
        "packets",
        [interval.t_ns for interval in sunk.intervals],
        [interval.packets for interval in sunk.intervals],
        labels,
    )


def first_answer(
    session: Session, port: int, *, interval_us: int, deadline_s: float
) -> FirstAnswer | None:
    """The first answer of the target's echo on a port; None if no packet went through in time."""
    try:
        answer = session.a.call(
            "first_answer",
            deadline_s + SLACK_S,
            to=session.inner(session.target),
            port=port,
            bind=session.inner(session.source),
            interval_us=interval_us,
            deadline_s=deadline_s,
            **session.marks,
        )
    except ProbeError:
        return None
    return parse(FirstAnswer, answer)
