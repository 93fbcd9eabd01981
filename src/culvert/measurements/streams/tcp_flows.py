"""A TCP connection as inner packets, for the proof."""

from __future__ import annotations

from culvert.measurements.streams.packet import SACK_BLOCKS, TCP_HEADERS
from culvert.probe.results import TcpInfo, TcpSource, TcpSunk
from culvert.trial.traffic import Flow, InnerTraffic


def inner_traffic(sent: TcpSource, sunk: TcpSunk) -> InnerTraffic:
    """Packets and bytes from the kernel's TCP_INFO at both ends.

    The receiver counts an aggregate made by GRO in a tunnel's own code as one segment; it holds at
    least bytes / MSS segments.
    """
    sender, receiver = sent.final_tcp_info, sunk.tcp_info or TcpInfo()
    arrived = max(receiver.segs_in, -(-sunk.bytes // max(sent.mss, 1)))
    return InnerTraffic(
        a_to_b_sent=_flow(sender.segs_out, sender.bytes_sent),
        a_to_b_received=_flow(arrived, sunk.bytes),
        b_to_a_sent=_acknowledgements(receiver.segs_out),
        b_to_a_received=_flow(sender.segs_in, 0),
    )


def _flow(segments: int, payload_bytes: int) -> Flow:
    return Flow(segments, payload_bytes + segments * TCP_HEADERS)


def _acknowledgements(segments: int) -> Flow:
    """Segments without data, which carry up to three SACK blocks and the timestamps."""
    return Flow(segments, segments * TCP_HEADERS, option_bytes=segments * SACK_BLOCKS)
