"""Packets of the underlay, from what the probe recorded."""

from __future__ import annotations

from culvert.probe.results import RecordedPacket
from culvert.vpns.base import OuterPacket


def outer_packet(packet: RecordedPacket) -> OuterPacket:
    """A recorded packet as drivers read it."""
    return OuterPacket(
        timestamp_ns=packet.realtime_ns or 0,
        outgoing=packet.outgoing,
        protocol=packet.protocol,
        source_port=packet.source_port,
        destination_port=packet.destination_port,
        length=packet.length,
        payload=bytes.fromhex(packet.payload),
    )
