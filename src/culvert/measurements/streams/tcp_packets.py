"""TCP as inner packets, for the proof, from the kernel's TCP_INFO: a load, and transactions."""

from __future__ import annotations

from culvert.measurements.streams.packet import SACK_BLOCKS, TCP_HEADERS
from culvert.probe.results import TcpInfo, TcpSource, TcpSunk
from culvert.trial.traffic import Flow, InnerTraffic

UNCOUNTED = 3
"""Segments of a connection that its end does not count: a SYN-ACK, and those sent after the
counters were read (a FIN, and an acknowledgement of the other end's FIN)."""
SYN_OPTIONS = 8
"""Bytes of a SYN's options beyond the timestamps that later segments carry."""


def inner_traffic(sent: TcpSource, sunk: TcpSunk) -> InnerTraffic:
    """Packets and bytes from the kernel's TCP_INFO at both ends.

    The receiver counts an aggregate made by GRO in a tunnel's own code as one segment; it holds at
    least bytes / MSS segments.
    """
    sender, receiver = sent.final_tcp_info, sunk.tcp_info or TcpInfo()
    arrived = max(receiver.segs_in, -(-sunk.bytes // max(sent.mss, 1)))
    return InnerTraffic(
        a_to_b_sent=_segments(sender.segs_out, sender.bytes_sent),
        a_to_b_received=_segments(arrived, sunk.bytes),
        b_to_a_sent=acknowledgements(receiver.segs_out),
        b_to_a_received=_segments(sender.segs_in, 0),
    )


def _segments(segments: int, payload_bytes: int) -> Flow:
    return Flow(segments, payload_bytes + segments * TCP_HEADERS)


def acknowledgements(segments: int) -> Flow:
    """Segments without data, which carry up to three SACK blocks and the timestamps."""
    return Flow(segments, segments * TCP_HEADERS, option_bytes=segments * SACK_BLOCKS)


def transaction_traffic(caller: TcpInfo, responder: TcpInfo, connections: int) -> InnerTraffic:
    """Inner traffic of ``connections`` from a to b.

    Segments that an end did not count may have been sent; none of them must have arrived.
    """
    return InnerTraffic(
        a_to_b_sent=_sent_by(caller, connections),
        a_to_b_received=_segments(responder.segs_in, responder.bytes_received),
        b_to_a_sent=_sent_by(responder, connections),
        b_to_a_received=_segments(caller.segs_in, caller.bytes_received),
    )


def exchange_traffic(near: TcpInfo, far: TcpInfo, connections: int) -> InnerTraffic:
    """The traffic of connections whose messages take many segments: acknowledgements may carry SACK
    blocks, and segments that came out may have been counted as aggregates (see inner_traffic)."""
    return InnerTraffic(
        a_to_b_sent=_streamed_by(near, connections),
        a_to_b_received=_arrived(far, near.snd_mss),
        b_to_a_sent=_streamed_by(far, connections),
        b_to_a_received=_arrived(near, far.snd_mss),
    )


def _streamed_by(end: TcpInfo, connections: int) -> Flow:
    segments = end.segs_out + UNCOUNTED * connections
    options = SYN_OPTIONS * connections + SACK_BLOCKS * segments
    inner_bytes = end.bytes_sent + segments * TCP_HEADERS
    return Flow(segments, inner_bytes, option_bytes=options, connections=connections)


def _arrived(end: TcpInfo, mss: int) -> Flow:
    segments = max(end.segs_in, -(-end.bytes_received // max(mss, 1)))
    return _segments(segments, end.bytes_received)


def _sent_by(end: TcpInfo, connections: int) -> Flow:
    segments = end.segs_out + UNCOUNTED * connections
    options = SYN_OPTIONS * connections + SACK_BLOCKS * end.total_retrans
    inner_bytes = end.bytes_sent + segments * TCP_HEADERS
    return Flow(segments, inner_bytes, option_bytes=options, connections=connections)
