"""The packets that carried the marked ones on the way between two nodes, and their kind. Pure.

IANA's port of VXLAN is 4789 (RFC 7348), Linux's older one 8472; Geneve's is 6081 (RFC 8926);
ESP in UDP has 4500 (RFC 3948). WireGuard has no port of its own: its data packets begin with
04 00 00 00.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from culvert.proof.cluster.seen import Marked, Seen
from culvert.vpns.outer import OuterPacket, outer_packet

ENOUGH = 0.95
"""Share of the marked packets that must be found on the interfaces that carry them."""
NOT_RANDOM_BYTES = 64
"""Headers of tunnels at the begin of a payload."""
SAMPLE_BYTES = 4_000
"""With fewer bytes the estimate of the entropy itself is more than 0.05 bits too low."""
_UDP = 17
_PROTOCOLS = {4: "IPIP", 6: "TCP", 47: "GRE", 50: "ESP"}
_VXLAN_PORTS = frozenset({4789, 8472})
_GENEVE_PORT = 6081
_ESP_PORT = 4500
_WIREGUARD_DATA = bytes((4, 0, 0, 0))
_VXLAN_FLAGS = 0x08


class Encapsulation(StrEnum):
    """What carries the packets of pods on the nodes' interfaces."""

    NONE = "no encapsulation"
    VXLAN = "VXLAN"
    GENEVE = "Geneve"
    IPIP = "IPIP"
    GRE = "GRE"
    WIREGUARD = "WireGuard"
    ESP = "ESP"
    ESP_IN_UDP = "ESP in UDP"
    UDP = "UDP of another kind"
    TCP = "TCP"
    OTHER = "another protocol"


@dataclass(frozen=True)
class Carrier:
    """Packets of one kind and length that carried the marked ones, in one direction; of a stream
    (TCP) ``length`` is that of all its packets, and ``packets`` how many marked ones it has room
    for. ``bits_per_byte`` is the entropy of their payload, None of too few bytes."""

    kind: Encapsulation
    length: int
    where: str
    packets: int
    bits_per_byte: float | None = None

    def text(self, marked: Marked) -> str:
        """In words, with the overhead of each packet."""
        if self.kind is Encapsulation.TCP:
            return f"{self.kind} (a stream of {self.length} bytes)"
        overhead = self.length - marked.length
        return f"{self.kind} ({self.packets} packets of {self.length} bytes, {overhead:+d})"


def carrier(marked: Marked, expected: int, seen: Sequence[Seen], node: str) -> Carrier | None:
    """Those that left a node: of one kind and length, long enough, and in number nearest to the
    ``expected`` ones; or a stream, in which packets have no length of their own."""
    singles: dict[tuple[Encapsulation, int, str], list[bytes]] = defaultdict(list)
    streams: dict[str, list[bytes]] = defaultdict(list)
    lengths: Counter[str] = Counter()
    for each in seen:
        if each.node != node:
            continue
        for recorded in each.captured.recorded:
            packet = outer_packet(recorded)
            if not packet.outgoing:
                continue
            kind = encapsulation_of(packet)
            if kind is Encapsulation.TCP:
                streams[each.where].append(packet.payload)
                lengths[each.where] += packet.length
            elif packet.length >= marked.length:
                clear = packet.length == marked.length
                key = Encapsulation.NONE if clear else kind, packet.length, each.where
                singles[key].append(packet.payload)
    enough = ENOUGH * expected
    found = [
        Carrier(*key, packets=len(payloads), bits_per_byte=entropy(payloads))
        for key, payloads in singles.items()
    ]
    # As many are better than fewer; of more those that are not much more than the expected ones.
    found.sort(key=lambda one: (one.packets < enough, abs(one.packets - expected)))
    for where, length in lengths.most_common(1):
        room = length // marked.length
        stream = Carrier(Encapsulation.TCP, length, where, room, entropy(streams[where]))
        found.insert(1, stream)
    found = [one for one in found if one.packets]
    return next((one for one in found if one.packets >= enough), next(iter(found), None))


def entropy(payloads: Sequence[bytes]) -> float | None:
    """Bits per byte behind the headers; None of too few bytes."""
    counts = Counter(byte for payload in payloads for byte in payload[NOT_RANDOM_BYTES:])
    total = counts.total()
    if total < SAMPLE_BYTES:
        return None
    return -sum(count / total * math.log2(count / total) for count in counts.values())


def encapsulation_of(packet: OuterPacket) -> Encapsulation:
    """By the outermost header."""
    if packet.protocol != _UDP:
        return Encapsulation(_PROTOCOLS.get(packet.protocol, Encapsulation.OTHER))
    ports = {packet.source_port, packet.destination_port}
    payload = packet.payload
    if payload.startswith(_WIREGUARD_DATA):
        return Encapsulation.WIREGUARD
    if ports & _VXLAN_PORTS and payload[:1] and payload[0] & _VXLAN_FLAGS:
        return Encapsulation.VXLAN
    if _GENEVE_PORT in ports:
        return Encapsulation.GENEVE
    return Encapsulation.ESP_IN_UDP if _ESP_PORT in ports else Encapsulation.UDP
