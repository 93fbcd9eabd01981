"""The proof of a path between pods: marked packets, and the nodes' interfaces meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from culvert.labs.kubernetes.pods.lab import KubernetesLab
from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.proof.canary import CANARY_PAYLOAD_BYTES, echo_marked
from culvert.proof.cluster import judge
from culvert.proof.cluster.judge import Protection, Verdict
from culvert.proof.cluster.observer import RECORDED, Among, Observer, watching
from culvert.proof.cluster.seen import Marked, Seen, between, canary_hits, readable
from culvert.run.pods.session import PodSession
from culvert.topology.spec import Placement
from culvert.trial.check import Check
from culvert.trial.session import Session

ATTEMPTS = 3
"""While the captures miss packets: a burst of other traffic ends."""
AFTERWARDS = "after the measurement"


@dataclass(frozen=True)
class Watch:
    """Who captures, and the packets that are recorded and counted: those ``among`` these addresses.
    All others are searched for the canary only."""

    observers: Sequence[Observer]
    among: Among


@dataclass(frozen=True)
class Proof:
    """A verdict, and the watch that led to it."""

    verdict: Verdict
    watch: Watch


def watch_of(lab: KubernetesLab, observers: Sequence[Observer]) -> Watch:
    """Packets between the nodes, and between the pods where nothing encapsulates them."""
    nodes = [address for each in observers for address in each.addresses]
    pods = [node.underlay.address.ip for node in (lab.a, lab.b)]
    service = [lab.service_address] if lab.service_address is not None else []
    return Watch(observers, tuple(dict.fromkeys([*nodes, *pods, *service])))


def carries(session: Session[Any]) -> Check:
    """Whether marked packets come back, without a look at the nodes."""
    answered = echo_marked(session)
    return _crossed(answered.received, answered.sent)


def prove(session: PodSession, observers: Sequence[Observer], phase: str = "") -> Proof:
    """Send marked packets from source to target and back while all interfaces are captured.

    Where no packet between the nodes' own addresses carried them, those are looked for that left
    one node and reached the other: addresses may be translated, or of IPv6.
    """
    watch = watch_of(session.lab, observers)
    found = _attempts(session, watch, phase)
    if found.wire is Protection.UNSEEN:
        anywhere = Watch(observers, None)
        found_there = _attempts(session, anywhere, phase)
        if found_there.wire is not Protection.UNSEEN:
            return Proof(found_there, anywhere)
    return Proof(found, watch)


def _attempts(session: PodSession, watch: Watch, phase: str) -> Verdict:
    for _ in range(ATTEMPTS):
        found = _attempt(session, watch, phase)
        if found.wire is not Protection.UNKNOWN:
            break
    return found


def _attempt(session: PodSession, watch: Watch, phase: str) -> Verdict:
    lab = session.lab
    seen: list[Seen] = []
    with watching(watch.observers, session.canary, seen, watch.among, record=RECORDED):
        answered = echo_marked(session)
    source, target = lab.a.host.name, lab.b.host.name
    return judge.verdict(
        ", ".join(filter(None, (judge.TRAFFIC[lab.placement], phase))),
        Marked(answered.sent, answered.received, CANARY_PAYLOAD_BYTES + UDP_HEADERS),
        seen if watch.among is not None else between(seen, source, target),
        source=source,
        target=target,
    )


def checks_of(verdict: Verdict, *, encrypted: bool) -> list[Check]:
    """The checks of a path that was proved."""
    crossed = _crossed(verdict.marked.received, verdict.marked.sent)
    return [crossed, *judge.checks(verdict, encrypted=encrypted)]


@dataclass(frozen=True)
class LoadCaptures:
    """The captures beside a measurement. ``marked``: its packets carry the canary."""

    seen: Sequence[Seen]
    placement: Placement
    sample_one_in: int
    marked: bool

    @property
    def checks(self) -> list[Check]:
        """Of a measurement whose traffic must be encrypted: a part of it may have leaked, such as
        while an agent of the CNI restarted."""
        return [self.nothing_clear, self.looked_at]

    @property
    def nothing_clear(self) -> Check:
        hits = canary_hits(self.seen)
        name = "nothing clear" if self.marked else "no canary"
        return Check(
            f"{name} during the measurement ({self._traffic})",
            not hits,
            readable(hits)
            or f"the canary was in 0 of {self._searched:,} packets on the nodes' devices"
            + ("" if self.marked else "; the measurement's own packets carry none"),
            judge.REMEDY,
            {"packets": self._searched, "canary_hits": hits},
        )

    @property
    def looked_at(self) -> Check:
        """Whether the captures have seen what they were to see: else they prove nothing."""
        missed = [each.missed for each in self.seen if each.missed]
        leaves = self.placement.of_two_nodes
        seen_none = leaves and self.marked and not self._packets
        return Check(
            f"the captures beside the measurement are whole ({self._traffic})",
            not missed and not seen_none,
            "; ".join(missed)
            or (
                "no packet between the nodes was captured"
                if seen_none
                else f"every packet was searched, {self._packets:,} between the nodes were captured"
            ),
            judge.CALMER if missed else "see the routes and devices of the nodes",
            {"packets": self._packets, "missed": missed, "sample_one_in": self.sample_one_in},
        )

    @property
    def _traffic(self) -> str:
        return judge.TRAFFIC[self.placement]

    @property
    def _searched(self) -> int:
        return sum(each.captured.searched_packets for each in self.seen)

    @property
    def _packets(self) -> int:
        return sum(each.captured.packets for each in self.seen)


def _crossed(received: int, sent: int) -> Check:
    return Check(
        "the cluster's network carries packets",
        received > 0,
        f"{received} of {sent} marked packets came back",
        "a network policy may block them: see the policies of the pods' namespace",
    )
