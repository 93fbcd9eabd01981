"""Encrypted, clear, or not leaving the node: from what the nodes' interfaces carried. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from culvert.proof.capture import ENTROPY_SAMPLE_BYTES, MIXED_ENTROPY_BITS
from culvert.proof.cluster.carrier import ENOUGH, Carrier, Encapsulation, carrier
from culvert.proof.cluster.seen import Marked, Seen
from culvert.topology.spec import Placement
from culvert.trial.check import Check

REMEDY = (
    "switch the CNI's encryption on for this traffic, or run the cluster over a VPN "
    "(--cluster embedded shows one)"
)
CALMER = "repeat it while less other traffic passes between these nodes, or on other nodes"


class Protection(StrEnum):
    """What became of traffic on the way between nodes."""

    ENCRYPTED = "encrypted"
    CLEAR = "clear"
    NOT_LEAVING = "not leaving the node"
    UNSEEN = "not seen"
    UNKNOWN = "not known"
    """Not all packets were looked at."""

    @property
    def known(self) -> bool:
        """Whether it was seen what became of it."""
        return self not in (Protection.UNSEEN, Protection.UNKNOWN)


TRAFFIC: Mapping[Placement, str] = {
    Placement.TWO_NODES: "pod to pod",
    Placement.ONE_NODE: "pod to pod on one node",
    Placement.SERVICE: "pod to service",
    Placement.HOST_NETWORK: "node to node (host network)",
}


@dataclass(frozen=True)
class Verdict:
    """What became of one kind of traffic; ``carriers`` are those of each direction."""

    traffic: str
    wire: Protection
    marked: Marked
    clear: tuple[str, ...] = ()
    carriers: tuple[Carrier, ...] = ()
    bits_per_byte: float | None = None
    captured_on: tuple[str, ...] = ()
    """The devices of nodes on which packets were captured."""
    missed: tuple[str, ...] = ()
    """What was not looked at, in words."""

    @property
    def encapsulation(self) -> str:
        """The kinds of packets that carried it, each once."""
        return ", ".join(dict.fromkeys(str(carrier.kind) for carrier in self.carriers))

    @property
    def reconciled(self) -> bool:
        """Whether the interfaces carried as many packets as were sent and answered: fewer took
        another way, and of more a part may be copies. Of a stream more has room."""
        if self.wire in (Protection.NOT_LEAVING, Protection.UNSEEN, Protection.UNKNOWN):
            return self.wire is Protection.NOT_LEAVING
        needed = (self.marked.sent, self.marked.received)
        return len(self.carriers) == len(needed) and all(
            count * ENOUGH <= one.packets
            and (one.kind is Encapsulation.TCP or one.packets * ENOUGH <= count)
            for one, count in zip(self.carriers, needed, strict=True)
        )

    def text(self) -> str:
        """In one line."""
        parts = [f"{self.traffic}: {self.wire}"]
        if self.clear:
            parts.append("; ".join(self.clear))
        elif self.missed:
            parts.append("; ".join(self.missed))
        elif self.carriers and self.wire is not Protection.NOT_LEAVING:
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
    ways = [
        carrier(marked, marked.sent, seen, source),
        carrier(marked, marked.received, seen, target),
    ]
    carriers = tuple(way for way in ways if way is not None)
    missed = [each.missed for each in seen]
    if source != target:
        missed += [each.unrecorded for each in seen]
    missed = [words for words in missed if words]
    bits = _bits_per_byte(carriers, seen)
    if clear:
        wire = Protection.CLEAR
    elif missed:
        wire = Protection.UNKNOWN
    elif source == target:
        wire = Protection.NOT_LEAVING
    elif len(carriers) == len(ways):
        wire = (
            Protection.CLEAR
            if bits is not None and bits < MIXED_ENTROPY_BITS
            else Protection.ENCRYPTED
        )
    else:
        wire = Protection.UNSEEN
    devices = tuple(dict.fromkeys(each.where for each in seen))
    return Verdict(traffic, wire, marked, clear, carriers, bits, devices, tuple(missed))


def _bits_per_byte(carriers: Sequence[Carrier], seen: Sequence[Seen]) -> float | None:
    """The least entropy of the carriers' payload; that of all packets where theirs is too short."""
    of_carriers = [one.bits_per_byte for one in carriers if one.bits_per_byte is not None]
    of_all = [
        each.captured.randomness.bits_per_byte
        for each in seen
        if each.captured.randomness is not None
        and each.captured.randomness.bytes >= ENTROPY_SAMPLE_BYTES
    ]
    return min(of_carriers or of_all, default=None)


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
        "missed": list(found.missed),
    }
    leaves = found.wire is not Protection.NOT_LEAVING
    passed = found.wire is (Protection.ENCRYPTED if encrypted else Protection.CLEAR) or not leaves
    name = "encrypted between the nodes" if encrypted else "clear between the nodes"
    where = f"; captured on {', '.join(found.captured_on)}" if found.captured_on else ""
    remedy = CALMER if found.wire is Protection.UNKNOWN else REMEDY
    made = [Check(f"{name} ({found.traffic})", passed, found.text() + where, remedy, figures)]
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
                CALMER
                if found.wire is Protection.UNKNOWN
                else "a part takes another way: see the routes and devices of the nodes",
                figures,
            )
        )
    return made
