"""Pages over HTTP and streams over QUIC."""

from __future__ import annotations

from culvert.probe.results.base import Result, Times
from culvert.probe.results.tcp import StreamSunk, TcpInfo


class SecureServer(Result):
    """``ready`` of a server: its port, and the certificate that its client must be given."""

    port: int
    certificate: str


class Datagrams(Result):
    """Datagrams of UDP as QUIC's connections count them, with their payload in bytes."""

    sent: int = 0
    sent_bytes: int = 0
    received: int = 0
    received_bytes: int = 0


class HttpLoaded(Result):
    """Result of ``http_client``; ``tcp_info`` or ``udp`` of all connections together."""

    seconds: float
    connections: int
    objects: int
    bytes: int
    errors: dict[str, int] = {}
    """Pages that failed, by what failed."""
    page: Times | None = None
    first_byte: Times | None = None
    connect: Times | None = None
    pages: list[tuple[int, int]] = []
    """When each page began, and its time, in ns."""
    tcp_info: TcpInfo | None = None
    udp: Datagrams = Datagrams()

    @property
    def failed(self) -> int:
        """Pages that did not arrive whole."""
        return sum(self.errors.values())


class HttpServed(Result):
    """Result of ``http_server``."""

    tcp_info: TcpInfo | None = None
    udp: Datagrams = Datagrams()


class QuicSent(Result):
    """Result of ``quic_source``: of the connection with the streams, but for ``handshake``,
    ``connections`` and ``udp``, which are of all."""

    connections: int
    failed_handshakes: int
    handshake: Times | None = None
    packets: int
    lost_packets: int
    rtt_us: int
    mtu: int
    """Payload of the largest datagram."""
    datagrams: int
    calls: int
    """Calls that sent them: with GSO one sends several."""
    udp: Datagrams = Datagrams()


class QuicSunk(StreamSunk):
    """Result of ``quic_sink``."""

    udp: Datagrams = Datagrams()
