"""The packets that carried the marked ones on the way between two nodes. Pure."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from culvert.proof.cluster import encapsulation
from culvert.proof.cluster.encapsulation import Encapsulation
from culvert.proof.cluster.seen import Marked, Seen
from culvert.vpns.outer import outer_packet

ENOUGH = 0.95
"""Share of the marked packets that must be found on the interfaces that carry them."""
NOT_RANDOM_BYTES = 64
"""Headers of tunnels at the begin of a payload."""
SAMPLE_BYTES = 4_000
"""With fewer bytes the estimate of the entropy itself is more than 0.05 bits too low."""


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
            kind = encapsulation.of(packet)
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
