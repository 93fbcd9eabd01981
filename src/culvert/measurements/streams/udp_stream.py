"""One stream of UDP packets from node a to node b, sent and received."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum

from culvert.measurements.streams.offer import offer
from culvert.measurements.streams.packet import SMALLEST, UDP_HEADERS
from culvert.probe.results import Forwarded, UdpSource, UdpSunk, parse
from culvert.trial.echo import Echo
from culvert.trial.session import Session
from culvert.trial.traffic import Flow, InnerTraffic

RECEIVE_BUFFER_BYTES = 32 << 20
"""Enough for a receiver that does not run for a tenth of a second."""
QUIET_MS = 100
"""The receiver stops after this time and two round trips without a packet. A later packet finds no
socket, and its ICMP error goes back through the tunnel uncounted."""
SLACK_S = 15
NOTHING = Flow(0, 0)


class Arrivals(StrEnum):
    """How paced packets are spread: evenly, at random, or several at once."""

    CONSTANT = "constant"
    POISSON = "poisson"
    BURST = "burst"


@dataclass(frozen=True)
class Frames:
    """The frames of a video, as the probe's requests have them.

    ``packets`` are those of each frame of a group, which repeats; ``spread`` is the share of a
    frame's time over which its packets are sent.
    """

    packets: tuple[int, ...]
    per_s: float
    spread: float


@dataclass(frozen=True)
class UdpStream:
    """A stream of packets to address ``to`` of node b.

    ``sizes`` are inner IP packets in bytes, in turn. ``rate_pps`` is of all flows together; None:
    as fast as the sockets accept packets. A port of 0 is any free one; ``source_port`` is that of
    the first flow, the others use the next ones. ``segmentation``: whether the kernel may segment
    larger messages into packets; see the protocol. ``frames`` are the times of packets in place of
    a rate. ``socket_buffer_bytes`` are setsockopt's; None: the kernel's own for the sender,
    RECEIVE_BUFFER_BYTES for the receiver.
    """

    to: str
    sizes: tuple[int, ...]
    duration_s: float
    rate_pps: float | None = None
    arrivals: Arrivals = Arrivals.CONSTANT
    burst: int = 1
    flows: int = 1
    threads: int = 1
    port: int = 0
    source_port: int = 0
    segmentation: str = "auto"
    interval_ms: int = 1000
    frames: Frames | None = None
    socket_buffer_bytes: int | None = None

    @property
    def payload_size(self) -> int | list[int]:
        """Bytes of UDP payload, in the form of the probe's request."""
        payloads = [size - UDP_HEADERS for size in self.sizes]
        return payloads[0] if len(payloads) == 1 else payloads

    @property
    def length(self) -> int | None:
        """Bytes of each inner IP packet; None if they differ."""
        return self.sizes[0] if len(self.sizes) == 1 else None


@dataclass(frozen=True)
class UdpTrial:
    """The result of one stream. ``length`` is that of all inner IP packets; None if they differ."""

    length: int | None
    sent: UdpSource
    sunk: UdpSunk

    @property
    def unique(self) -> int:
        """Packets that arrived, duplicates counted once."""
        return self.sunk.unique

    @property
    def forwarded(self) -> Forwarded:
        """Those of them that arrived while the stream was offered."""
        return self.sunk.forwarded

    @property
    def lost(self) -> int:
        """Packets that did not arrive; what the receiver's full socket dropped had arrived."""
        return max(self.sent.packets - self.unique - (self.sunk.socket_drops or 0), 0)

    @property
    def sent_flow(self) -> Flow:
        """For the proof: the packets handed to the tunnel."""
        return _flow(self.sent.packets, self.sent.bytes, self.length)

    @property
    def received_flow(self) -> Flow:
        """For the proof: the packets that came out, without the link's duplicates."""
        return _flow(self.unique, self.sunk.unique_bytes, self.length)

    @property
    def traffic(self) -> InnerTraffic:
        """For the proof: data in one direction only."""
        return InnerTraffic(self.sent_flow, self.received_flow, NOTHING, NOTHING)


def _flow(packets: int, payload_bytes: int, length: int | None) -> Flow:
    if length is not None:
        return Flow(packets, packets * length, length)
    return Flow(packets, payload_bytes + packets * UDP_HEADERS)


class UdpRun:
    """One stream: the receiver listens from the beginning, the sender sends from start() on.

    ``upward`` is from node a to node b.
    """

    def __init__(
        self,
        session: Session,
        stream: UdpStream,
        quiet_ms: int = QUIET_MS,
        *,
        upward: bool = True,
    ) -> None:
        self._session = session
        self._stream = stream
        self._patience_s = 4 * quiet_ms / 1000 + SLACK_S
        self._sender, receiver = (session.a, session.b) if upward else (session.b, session.a)
        self._sink = receiver.begin(
            "udp_sink",
            bind=stream.to,
            port=stream.port,
            receive_buffer=stream.socket_buffer_bytes or RECEIVE_BUFFER_BYTES,
            interval_ms=stream.interval_ms,
            duration_max_s=stream.duration_s + self._patience_s,
            flows=stream.flows,
            quiet_ms=quiet_ms,
            clock="shared" if session.lab.shared_kernel else "separate",
            frames=None if stream.frames is None else asdict(stream.frames),
            offer=offer(stream.duration_s, session.link.impairment),
            **session.marks,
        )
        self._port = self._sink.port()
        self._sent: UdpSource | None = None

    def start(self) -> UdpRun:
        """Returns when the first packet is due."""
        stream = self._stream
        self._source = self._sender.begin(
            "udp_source",
            to=stream.to,
            port=self._port,
            bind_port=stream.source_port,
            payload_size=stream.payload_size,
            rate_pps=stream.rate_pps,
            duration_s=stream.duration_s,
            arrivals=stream.arrivals,
            burst=stream.burst,
            flows=stream.flows,
            threads=stream.threads,
            segmentation=stream.segmentation,
            send_buffer=stream.socket_buffer_bytes,
            frames=None if stream.frames is None else asdict(stream.frames),
            **self._session.marks,
        )
        self._source.ready()
        return self

    def sent(self) -> UdpSource:
        """Wait until the last packet is sent."""
        if self._sent is None:
            answer = self._source.result(self._stream.duration_s + SLACK_S)
            self._sent = parse(UdpSource, answer)
        return self._sent

    def finish(self) -> UdpTrial:
        """Wait until the last packet is sent, then until the last one has arrived."""
        sent = self.sent()
        # Duplicates may arrive after all other packets.
        expected = None if self._session.link.impairment.duplicates else sent.packets
        return self._trial(sent, expected)

    def stop(self) -> UdpTrial:
        """Stop sending, and wait for packets in transit."""
        return self._trial(parse(UdpSource, self._source.stop()), None)

    def _trial(self, sent: UdpSource, expected: int | None) -> UdpTrial:
        sunk = parse(UdpSunk, self._sink.stop(self._patience_s, packets=expected))
        return UdpTrial(self._stream.length, sent, sunk)


def udp_trial(
    session: Session, stream: UdpStream, quiet_ms: int = QUIET_MS, *, upward: bool = True
) -> UdpTrial:
    """One stream from its beginning to its end."""
    return UdpRun(session, stream, quiet_ms, upward=upward).start().finish()


def quiet_ms(session: Session, to: str) -> int:
    """Silence after which a stream to ``to`` has ended, from the path's round trip."""
    with Echo(session, SLACK_S, to) as echo:
        answer = echo.once(SMALLEST - UDP_HEADERS, df=False, timeout_ms=2000)
    return QUIET_MS + 2 * round((answer.rtt_ns or 0) / 1e6)
