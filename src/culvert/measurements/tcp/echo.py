"""Requests and responses over TCP as inner packets, for the proof, from the kernel's TCP_INFO."""

from __future__ import annotations

from culvert.measurements.udp.packet import SACK_BLOCKS, TCP_HEADERS
from culvert.probe.results import TcpInfo
from culvert.trial.traffic import Flow, InnerTraffic

UNCOUNTED = 3
"""Segments of a connection that its end does not count: a SYN-ACK, and what is sent after it was
asked: FIN, and an acknowledgement of the other's."""
SYN_OPTIONS = 8
"""What a SYN's options have more than the timestamps of later segments."""


def transaction_traffic(caller: TcpInfo, responder: TcpInfo, connections: int) -> InnerTraffic:
    """Of ``connections`` from a to b.

    Segments that an end has not counted may have been sent, but none of them needs to have come.
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
