"""Requests and responses over TCP as inner packets, for the proof, from the kernel's TCP_INFO."""

from __future__ import annotations

from culvert.measurements.streams.packet import SACK_BLOCKS, TCP_HEADERS
from culvert.probe.results import TcpInfo
from culvert.trial.traffic import Flow, InnerTraffic

UNCOUNTED = 3
"""Segments of a connection that its end does not count: a SYN-ACK, and those sent after the
counters were read (a FIN, and an acknowledgement of the other end's FIN)."""
SYN_OPTIONS = 8
"""Bytes of a SYN's options beyond the timestamps that later segments carry."""


def transaction_traffic(caller: TcpInfo, responder: TcpInfo, connections: int) -> InnerTraffic:
    """Inner traffic of ``connections`` from a to b.

    Segments that an end did not count may have been sent; none of them must have arrived.
    """
    return InnerTraffic(
        a_to_b_sent=_sent(caller, connections),
        a_to_b_received=_received(responder),
        b_to_a_sent=_sent(responder, connections),
        b_to_a_received=_received(caller),
    )


def _sent(end: TcpInfo, connections: int) -> Flow:
    segments = end.segs_out + UNCOUNTED * connections
    options = SYN_OPTIONS * connections + SACK_BLOCKS * end.total_retrans
    return Flow(segments, end.bytes_sent + segments * TCP_HEADERS, option_bytes=options)


def _received(end: TcpInfo) -> Flow:
    return Flow(end.segs_in, end.bytes_received + end.segs_in * TCP_HEADERS)
