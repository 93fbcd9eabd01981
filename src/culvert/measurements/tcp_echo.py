"""Requests and responses over TCP as inner packets, for the proof, from the kernel's TCP_INFO."""

from __future__ import annotations

from culvert.measurements.packet import SACK_BLOCKS, TCP_HEADERS
from culvert.probe.results import TcpInfo
from culvert.proof.traffic import Flow, InnerTraffic

SYN_OPTIONS = 8
"""What a SYN's options have more than the timestamps of later segments."""


def transaction_traffic(caller: TcpInfo, responder: TcpInfo, connections: int) -> InnerTraffic:
    """Of ``connections`` from a to b.

    Each end looked at its connections before they had closed: up to two segments more of each (FIN
    and what acknowledges it) may have been sent, none needs to have come.
    """
    return InnerTraffic(
        a_to_b_sent=_sent(caller, connections),
        a_to_b_received=_received(responder),
        b_to_a_sent=_sent(responder, connections),
        b_to_a_received=_received(caller),
    )


def _sent(end: TcpInfo, connections: int) -> Flow:
    segments = end.segs_out + 2 * connections
    options = SYN_OPTIONS * connections + SACK_BLOCKS * end.total_retrans
    return Flow(segments, end.bytes_sent + segments * TCP_HEADERS, option_bytes=options)


def _received(end: TcpInfo) -> Flow:
    return Flow(end.segs_in, end.bytes_received + end.segs_in * TCP_HEADERS)
