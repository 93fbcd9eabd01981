"""TCP sources, sinks and responders."""

from __future__ import annotations

from culvert.probe.results.base import Result, Times


class TcpInfo(Result):
    """The kernel's tcp_info at the end (linux/tcp.h)."""

    segs_out: int = 0
    segs_in: int = 0
    total_retrans: int = 0
    """Retransmitted segments."""
    bytes_sent: int = 0
    bytes_received: int = 0
    snd_mss: int = 0
    """Largest payload of a segment, options deducted."""


class TcpSourceInterval(Result):
    """TCP_INFO of the sender at one moment; ``retransmits`` since the interval before."""

    t_ns: int
    bytes_acked: int
    retransmits: int
    cwnd: int
    """Segments."""
    rtt_us: int
    rttvar_us: int = 0
    pmtu: int = 0


class TcpStreamSent(Result):
    """The kernel's TCP_INFO of one of several connections."""

    intervals: list[TcpSourceInterval] = []


class TcpSource(Result):
    """Result of ``tcp_source``."""

    congestion_control: str
    send_buffer_effective: int = 0
    """As getsockopt returned it before the first write."""
    mss: int
    retransmits: int
    data_segs_out: int
    intervals: list[TcpSourceInterval] = []
    """Figures of all connections together: windows are sums."""
    final_tcp_info: TcpInfo
    """TCP_INFO after all data had been acknowledged, or the connection had failed."""
    streams: list[TcpStreamSent] = []

    @property
    def by_stream(self) -> list[list[TcpSourceInterval]]:
        """The intervals of each connection."""
        return [stream.intervals for stream in self.streams] or [self.intervals]


class BytesInterval(Result):
    """Bytes that were read in the interval ending at ``t_ns``."""

    t_ns: int
    bytes: int
    unread: int = 0
    """Memory of packets that had arrived by its end and were not read, in bytes."""


class TcpStreamSunk(Result):
    """Bytes that arrived on one of several connections."""

    bytes: int


class StreamSunk(Result):
    """What a sink of streams received, without tokens."""

    bytes: int
    first_ns: int | None = None
    last_ns: int | None = None
    intervals: list[BytesInterval] = []


class TcpSunk(StreamSunk):
    """Result of ``tcp_sink``."""

    receive_buffer_effective: int = 0
    """As getsockopt returned it before the first connection."""
    corrupt_samples: int = 0
    tcp_info: TcpInfo | None = None
    streams: list[TcpStreamSunk] = []


class Transacted(Times):
    """Result of ``tcp_rr`` and ``tcp_crr``; its own times are those of transactions."""

    transactions: int
    per_second: float
    errors: dict[str, int] = {}
    """By name of the error."""
    connect: Times | None = None
    tcp_info: TcpInfo | None = None
    """Of all connections together; None of none."""

    @property
    def failed(self) -> int:
        """Transactions without a response."""
        return sum(self.errors.values())


class Responded(Result):
    """Result of ``tcp_responder``."""

    connections: int
    tcp_info: TcpInfo | None = None
    """Of all connections together; None of none."""
