"""What was sent with marks, and what the nodes' interfaces carried meanwhile. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from culvert.probe.results import Captured, RecordedPacket


@dataclass(frozen=True)
class Marked:
    """Marked packets: inner IP packets of ``length`` bytes, sent from source to target and back."""

    sent: int
    received: int
    length: int


@dataclass(frozen=True)
class Seen:
    """What one interface of a node carried while the marked packets were sent; ``left_out`` packets
    were recorded, and are of others."""

    node: str
    device: str
    captured: Captured
    left_out: int = 0

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.device} of {self.node}"

    @property
    def missed(self) -> str:
        """What the capture did not look at, for messages; empty if nothing."""
        dropped = self.captured.kernel_drops
        return f"{dropped} packets on {self.where} were not captured" if dropped else ""

    @property
    def unrecorded(self) -> str:
        """What was searched for the canary but not recorded, for messages; empty if nothing."""
        recorded = len(self.captured.recorded) + self.left_out
        packets = self.captured.matching.total()
        if recorded >= packets:
            return ""
        return f"only the first {recorded} of {packets} packets on {self.where} were recorded"


def canary_hits(seen: Sequence[Seen]) -> dict[str, int]:
    """Packets in which the canary was readable, by where."""
    hits = {one.where: one.captured.canary_hits for one in seen}
    return {where: count for where, count in hits.items() if count}


def readable(hits: Mapping[str, int]) -> str:
    """Packets in which the canary was readable, in words."""
    return "; ".join(f"readable in {count} packets on {where}" for where, count in hits.items())


def between(seen: Sequence[Seen], source: str, target: str) -> list[Seen]:
    """What was seen, with those packets only that left one of both nodes and reached the other.

    They are recognised by their payload, which translated addresses leave as it is.
    """
    found = []
    for each in seen:
        other = target if each.node == source else source
        elsewhere = {
            (_identity(packet), packet.outgoing)
            for one in seen
            if one.node == other
            for packet in one.captured.recorded
        }
        crossed = [
            packet
            for packet in each.captured.recorded
            if (_identity(packet), not packet.outgoing) in elsewhere
        ]
        captured = each.captured.model_copy(update={"recorded": crossed})
        left_out = len(each.captured.recorded) - len(crossed)
        found.append(replace(each, captured=captured, left_out=left_out))
    return found


def _identity(packet: RecordedPacket) -> tuple[int, int, str]:
    return packet.protocol, packet.length, packet.payload
