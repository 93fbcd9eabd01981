"""Encrypted, clear, or not leaving the node: from what the nodes' interfaces carried. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from culvert.probe.results import Captured
from culvert.proof.capture import ENTROPY_SAMPLE_BYTES, MIXED_ENTROPY_BITS
from culvert.proof.cluster import encapsulation
from culvert.proof.cluster.encapsulation import Encapsulation
from culvert.topology.placement import Placement
from culvert.trial.check import Check
from culvert.vpns.outer import outer_packet

ENOUGH = 0.95
"""Share of the marked packets that must be found on the interfaces that carry them."""
REMEDY = (
    "switch the CNI's encryption on for this traffic, or run the cluster over a VPN "
    "(--cluster embedded shows one)"
)


class Wire(StrEnum):
    """What became of traffic on the way between nodes."""

    ENCRYPTED = "encrypted"
    CLEAR = "clear"
    NOT_LEAVING = "not leaving the node"
    UNSEEN = "not seen"


TRAFFIC: Mapping[Placement, str] = {
    Placement.TWO_NODES: "pod to pod",
    Placement.ONE_NODE: "pod to pod on one node",
    Placement.SERVICE: "pod to service",
    Placement.HOST_NETWORK: "node to node (host network)",
}


@dataclass(frozen=True)
class Marked:
    """Marked packets: inner IP packets of ``length`` bytes, sent from source to target and back."""

    sent: int
    received: int
    length: int


@dataclass(frozen=True)
class Seen:
    """What one interface of a node carried while the marked packets were sent."""

    node: str
    device: str
    captured: Captured

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.device} of {self.node}"


@dataclass(frozen=True)
class Carrier:
    """Packets of one kind and length that carried the marked ones, in one direction; of a stream
    (TCP) ``length`` is that of all its packets, and ``packets`` how many marked ones it has room
    for."""

    kind: Encapsulation
    length: int
    where: str
    packets: int

    def text(self, marked: Marked) -> str:
        """In words, with the overhead of each packet."""
        if self.kind is Encapsulation.TCP:
            return f"{self.kind} (a stream of {self.length} bytes)"
        overhead = self.length - marked.length
        return f"{self.kind} ({self.packets} packets of {self.length} bytes, {overhead:+d})"


@dataclass(frozen=True)
class Verdict:
    """What became of one kind of traffic; ``carriers`` are those of each direction."""

    traffic: str
    wire: Wire
    marked: Marked
    clear: tuple[str, ...] = ()
    carriers: tuple[Carrier, ...] = ()
    bits_per_byte: float | None = None
    captured_on: tuple[str, ...] = ()
    """The devices of nodes on which packets were captured."""

    @property
    def encapsulation(self) -> str:
        """The kinds of packets that carried it, each once."""
        return ", ".join(dict.fromkeys(str(carrier.kind) for carrier in self.carriers))

    @property
    def reconciled(self) -> bool:
        """Whether the interfaces carried as many packets as were sent and answered."""
        if self.wire in (Wire.NOT_LEAVING, Wire.UNSEEN):
            return self.wire is Wire.NOT_LEAVING
        counts = [carrier.packets for carrier in self.carriers]
        needed = (self.marked.sent, self.marked.received)
        return len(counts) == len(needed) and all(
            count >= ENOUGH * least for count, least in zip(counts, needed, strict=True)
        )

    def text(self) -> str:
        """In one line."""
        parts = [f"{self.traffic}: {self.wire}"]
        if self.clear:
            parts.append("; ".join(self.clear))
        elif self.carriers and self.wire is not Wire.NOT_LEAVING:
            parts.append(" and back ".join(one.text(self.marked) for one in self.carriers))
        return ", ".join(parts)


def verdict(
    traffic: str, marked: Marked, seen: Sequence[Seen], *, source: str, target: str
) -> Verdict:
    """From captures of the interfaces of the nodes ``source`` and ``target``."""
    clear = tuple(
        f"readable in {each.captured.canary_hits} packets on {each.where}"
        + (f", such as {each.captured.canary_example}" if each.captured.canary_example else "")
        for each in seen
        if each.captured.canary_hits
    )
    ways = [_carrier(marked, seen, source), _carrier(marked, seen, target)]
    carriers = tuple(way for way in ways if way is not None)
    random = [
        each.captured.randomness.bits_per_byte
        for each in seen
        if each.captured.randomness is not None
        and each.captured.randomness.bytes >= ENTROPY_SAMPLE_BYTES
    ]
    bits = min(random, default=None)
    if clear:
        wire = Wire.CLEAR
    elif source == target:
        wire = Wire.NOT_LEAVING
    elif len(carriers) == len(ways):
        wire = Wire.CLEAR if bits is not None and bits < MIXED_ENTROPY_BITS else Wire.ENCRYPTED
    else:
        wire = Wire.UNSEEN
    devices = tuple(dict.fromkeys(each.where for each in seen))
    return Verdict(traffic, wire, marked, clear, carriers, bits, devices)


def checks(found: Verdict, *, encrypted: bool) -> list[Check]:
    """The checks of a trial; ``encrypted``: whether the traffic is expected to be."""
    figures = {
        "wire": str(found.wire),
        "captured_on": list(found.captured_on),
        "encapsulation": found.encapsulation,
        "marked_packets": found.marked.sent,
        "marked_bytes": found.marked.length,
        "carriers": [
            {"kind": str(one.kind), "bytes": one.length, "packets": one.packets, "at": one.where}
            for one in found.carriers
        ],
        "bits_per_byte": found.bits_per_byte,
    }
    leaves = found.wire is not Wire.NOT_LEAVING
    passed = found.wire is (Wire.ENCRYPTED if encrypted else Wire.CLEAR) or not leaves
    name = "encrypted between the nodes" if encrypted else "clear between the nodes"
    where = f"; captured on {', '.join(found.captured_on)}" if found.captured_on else ""
    made = [Check(f"{name} ({found.traffic})", passed, found.text() + where, REMEDY, figures)]
    if leaves:
        made.append(
            Check(
                f"bytes reconcile between the nodes ({found.traffic})",
                found.reconciled,
                f"{found.marked.sent} packets of {found.marked.length} bytes and "
                f"{found.marked.received} answers were carried as "
                + (
                    " and back ".join(one.text(found.marked) for one in found.carriers)
                    or "nothing that the nodes' interfaces show"
                ),
                "a part takes another way: see the routes and devices of the nodes",
                figures,
            )
        )
    return made


def _carrier(marked: Marked, seen: Sequence[Seen], node: str) -> Carrier | None:
    """The commonest kind of packets, long enough, that left a node; or a stream, in which packets
    have no length of their own."""
    counts: Counter[tuple[Encapsulation, int, str]] = Counter()
    streams: Counter[str] = Counter()
    for each in seen:
        if each.node != node:
            continue
        for recorded in each.captured.recorded:
            packet = outer_packet(recorded)
            if not packet.outgoing:
                continue
            kind = encapsulation.of(packet)
            if kind is Encapsulation.TCP:
                streams[each.where] += packet.length
            elif packet.length >= marked.length:
                clear = packet.length == marked.length
                key = Encapsulation.NONE if clear else kind
                counts[key, packet.length, each.where] += 1
    single = next((Carrier(*key, packets=packets) for key, packets in counts.most_common(1)), None)
    stream = next(
        (
            Carrier(Encapsulation.TCP, length, where, length // marked.length)
            for where, length in streams.most_common(1)
        ),
        None,
    )
    enough = ENOUGH * marked.received
    found = [one for one in (single, stream) if one is not None and one.packets]
    return next((one for one in found if one.packets >= enough), next(iter(found), None))
