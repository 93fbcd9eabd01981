"""One stream of UDP packets of one size from node a to node b, sent and received."""

from __future__ import annotations

from dataclasses import dataclass

from culvert.measurements.packet import SMALLEST, UDP_HEADERS
from culvert.measurements.session import Session
from culvert.probe.results import EchoOnce, UdpSource, UdpSunk, parse
from culvert.proof.traffic import Flow

RECEIVE_BUFFER_BYTES = 32 << 20
"""Enough for a receiver that does not run for a tenth of a second."""
QUIET_MS = 100
"""Without a packet for so long, and two round trips more, the last one has come. A packet that
comes later finds no socket, and its ICMP error goes back through the tunnel, uncounted."""
SLACK_S = 15


@dataclass(frozen=True)
class UdpTrial:
    """What one stream came to. ``size`` is the inner IP packet in bytes."""

    size: int
    sent: UdpSource
    sunk: UdpSunk

    @property
    def unique(self) -> int:
        """Packets that arrived, duplicates counted once."""
        return self.sunk.unique

    @property
    def sent_flow(self) -> Flow:
        """For the proof: what the tunnel was given."""
        return Flow(self.sent.packets, self.sent.packets * self.size, self.size)

    @property
    def received_flow(self) -> Flow:
        """For the proof: what came out; a link's duplicates cost the sender nothing."""
        return Flow(self.unique, self.unique * self.size, self.size)


def udp_trial(
    session: Session,
    *,
    to: str,
    size: int,
    rate_pps: float | None,
    duration_s: float,
    quiet_ms: int = QUIET_MS,
    segmentation: str = "auto",
) -> UdpTrial:
    """Send to address ``to`` of node b, at ``rate_pps`` or as fast as the socket takes packets.

    ``segmentation``: whether the kernel may cut packets out of larger messages; see the protocol.
    """
    sink = session.b.begin(
        "udp_sink",
        bind=to,
        receive_buffer=RECEIVE_BUFFER_BYTES,
        interval_ms=1000,
        duration_max_s=duration_s + SLACK_S,
        quiet_ms=quiet_ms,
        **session.marks,
    )
    port = sink.port()
    sent = parse(
        UdpSource,
        session.a.call(
            "udp_source",
            duration_s + SLACK_S,
            to=to,
            port=port,
            payload_size=size - UDP_HEADERS,
            rate_pps=rate_pps,
            duration_s=duration_s,
            segmentation=segmentation,
            **session.marks,
        ),
    )
    return UdpTrial(size, sent, parse(UdpSunk, sink.stop()))


def quiet_ms(session: Session, to: str) -> int:
    """How long silence must last before a stream to ``to`` has ended: by the path's round trip."""
    echo = session.b.begin("echo", bind=to, token=session.token, idle_s=SLACK_S)
    answer = parse(
        EchoOnce,
        session.a.call(
            "echo_once",
            SLACK_S,
            to=to,
            port=echo.port(),
            payload_size=SMALLEST - UDP_HEADERS,
            df=False,
            attempts=3,
            timeout_ms=2000,
            **session.marks,
        ),
    )
    echo.stop()
    return QUIET_MS + 2 * round((answer.rtt_ns or 0) / 1e6)
