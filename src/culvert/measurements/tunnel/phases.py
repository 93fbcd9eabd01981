"""The packets of an initiation: its phases, and whether its echo went through the tunnel. Pure.

::

    command ── first handshake packet ── last ── first inner packet ── its answer
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from culvert.measurements.streams.packet import SMALLEST
from culvert.probe.results import Captured, RecordedPacket
from culvert.trial.check import Check
from culvert.vpns.base import Vpn, length_on_underlay
from culvert.vpns.outer import OuterPacket, outer_packet

_TCP = 6
SLACK_NS = 10_000_000
"""By this much the stamps of the link and of the probe may differ."""


@dataclass(frozen=True)
class Phases:
    """CLOCK_REALTIME in ns at node a's end of the link; None for what was not observed.

    Packets, bytes and fragments of the handshake count both directions: a fragment is a packet, and
    bytes are those of IP packets.
    """

    first_handshake_ns: int | None
    last_handshake_ns: int | None
    first_inner_ns: int | None
    handshake_packets: int = 0
    handshake_bytes: int = 0
    handshake_fragments: int = 0

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
        return Phases(None, None, None)
    packets = [outer_packet(packet) for packet in recorded]
    datagrams = [datagram for datagram in _datagrams(packets) if vpn.is_handshake(datagram[0])]
    handshakes = [packet for datagram in datagrams for packet in datagram]
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
        sum(packet.length for packet in handshakes),
        sum(len(datagram) for datagram in datagrams if len(datagram) > 1),
    )


def _datagrams(packets: Iterable[OuterPacket]) -> list[list[OuterPacket]]:
    """Each packet with the fragments behind it, of the same direction: of a fragment only the first
    shows what it belongs to."""
    found: list[list[OuterPacket]] = []
    latest: dict[bool, list[OuterPacket]] = {}
    for packet in packets:
        if packet.later_fragment and packet.outgoing in latest:
            latest[packet.outgoing].append(packet)
        elif not packet.later_fragment:
            latest[packet.outgoing] = [packet]
            found.append(latest[packet.outgoing])
    return found


def _carries_a_request(vpn: Vpn, packet: OuterPacket) -> bool:
    """A request is the smallest inner packet; over a stream any data counts as one."""
    if vpn.is_handshake(packet):
        return False
    length = length_on_underlay(vpn, SMALLEST)
    return bool(packet.payload) if length is None else packet.length == length


def judge_lengths(
    vpn: Vpn, captured: Captured, *, most_recorded: int, sent_ns: int, answered_ns: int
) -> list[Check]:
    """The request and its answer are in packets as long as the VPN's overhead makes them; in a
    tunnel over a stream, in at least as many bytes.

    ``sent_ns`` and ``answered_ns`` are CLOCK_REALTIME. Without a check where the recording is not
    complete, and for the baseline.
    """
    incomplete = len(captured.recorded) >= most_recorded or captured.kernel_drops > 0
    if vpn.outer_flow is None or incomplete:
        return []
    expected = length_on_underlay(vpn, SMALLEST)
    packets = [outer_packet(packet) for packet in captured.recorded]
    data = [packet for packet in packets if not vpn.is_handshake(packet)]
    there = [packet for packet in data if packet.outgoing]
    back = [
        packet
        for packet in data
        if not packet.outgoing
        and sent_ns - SLACK_NS <= packet.timestamp_ns <= answered_ns + SLACK_NS
    ]
    if expected is None:
        return [_of_a_stream(there, back)]
    requests, answers = (_carriers(way, expected) for way in (there, back))
    return [
        Check(
            "lengths reconcile (during initiation)",
            requests > 0 and answers > 0,
            f"{requests} packets of {expected} bytes, which carry a request, and {answers} with an "
            f"answer, among {len(there)} and {len(back)} of the tunnel's data",
            "the echo was answered around the tunnel, or the driver's outer_length() is wrong",
            {"outer_length": expected, "requests": requests, "answers": answers},
        )
    ]


def _carriers(way: list[OuterPacket], expected: int) -> int:
    """Packets of that length; and a stream with enough bytes, for a path that begins relayed over
    TCP."""
    of_streams = [one for one in way if one.protocol == _TCP]
    packets = sum(one.length == expected for one in way if one.protocol != _TCP)
    return packets + (sum(len(one.payload) for one in of_streams) >= SMALLEST)


def _of_a_stream(there: list[OuterPacket], back: list[OuterPacket]) -> Check:
    sent, received = (sum(len(one.payload) for one in way) for way in (there, back))
    return Check(
        "lengths reconcile (during initiation)",
        sent >= SMALLEST and received >= SMALLEST,
        f"at least {sent} and {received} bytes of data for an echo of {SMALLEST} bytes",
        "the echo was answered around the tunnel",
        {"sent_bytes": sent, "received_bytes": received},
    )
