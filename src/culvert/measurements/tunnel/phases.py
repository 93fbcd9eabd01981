"""The phases of an initiation, computed from the packets on the link. Pure.

::

    command ── first handshake packet ── last ── first inner packet ── its answer
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from culvert.measurements.streams.packet import SMALLEST
from culvert.probe.results import RecordedPacket
from culvert.vpns.base import Vpn, length_on_underlay
from culvert.vpns.outer import OuterPacket, outer_packet


@dataclass(frozen=True)
class Phases:
    """CLOCK_REALTIME in ns at node a's end of the link; None for what was not observed.

    ``handshake_packets`` counts both directions.
    """

    first_handshake_ns: int | None
    last_handshake_ns: int | None
    first_inner_ns: int | None
    handshake_packets: int

    @property
    def handshake_ns(self) -> int | None:
        """From the first to the last packet of the handshake; None if there are fewer than two."""
        if self.first_handshake_ns is None or self.last_handshake_ns is None:
            return None
        between = self.last_handshake_ns - self.first_handshake_ns
        return between if self.handshake_packets > 1 else None


def phases_of(vpn: Vpn, recorded: Iterable[RecordedPacket]) -> Phases:
    """The first inner packet is the first of a request's length that node a sends after the
    responder's first answer. Earlier packets use keys of an old tunnel. Without a handshake the
    first of that length counts."""
    if vpn.outer_flow is None:
        return Phases(None, None, None, 0)
    packets = [outer_packet(packet) for packet in recorded]
    handshakes = [packet for packet in packets if vpn.is_handshake(packet)]
    handshake = [packet.timestamp_ns for packet in handshakes]
    since_ns = min((each.timestamp_ns for each in handshakes if not each.outgoing), default=0)
    inner = [
        packet.timestamp_ns
        for packet in packets
        if packet.outgoing and packet.timestamp_ns >= since_ns and _carries_a_request(vpn, packet)
    ]
    return Phases(
        min(handshake, default=None),
        max(handshake, default=None),
        min(inner, default=None),
        len(handshake),
    )


def _carries_a_request(vpn: Vpn, packet: OuterPacket) -> bool:
    """A request is the smallest inner packet; over a stream any data counts as one."""
    if vpn.is_handshake(packet):
        return False
    length = length_on_underlay(vpn, SMALLEST)
    return bool(packet.payload) if length is None else packet.length == length
