"""The proof of a path between pods: marked packets, and the nodes' interfaces meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from culvert.labs.kubernetes.pods.lab import KubernetesLab
from culvert.measurements.udp.packet import UDP_HEADERS
from culvert.proof.canary import CANARY_PAYLOAD_BYTES, echo_marked
from culvert.proof.cluster import judge
from culvert.proof.cluster.judge import Marked, Seen, Verdict
from culvert.proof.cluster.observer import RECORDED, Observer, watching
from culvert.trial.check import Check
from culvert.trial.session import Session


def carries(session: Session) -> Check:
    """Whether marked packets come back, without a look at the nodes."""
    answered = echo_marked(session)
    return _crossed(answered.received, answered.sent)


def prove(session: Session, lab: KubernetesLab, observers: Sequence[Observer]) -> Verdict:
    """Send marked packets from source to target and back while all interfaces are captured."""
    seen: list[Seen] = []
    with watching(observers, session.canary, seen, record=RECORDED):
        answered = echo_marked(session)
    marked = Marked(answered.sent, answered.received, CANARY_PAYLOAD_BYTES + UDP_HEADERS)
    return judge.verdict(
        judge.TRAFFIC[lab.placement],
        marked,
        seen,
        source=lab.chosen.source.name,
        target=lab.chosen.target.name,
    )


def checks_of(verdict: Verdict, *, encrypted: bool) -> list[Check]:
    """The checks of a path that was proved."""
    crossed = _crossed(verdict.marked.received, verdict.marked.sent)
    return [crossed, *judge.checks(verdict, encrypted=encrypted)]


def during(seen: Sequence[Seen], lab: KubernetesLab) -> list[Check]:
    """Checks of the captures beside a measurement whose traffic must be encrypted: a part of it may
    have leaked, such as while an agent of the CNI restarted."""
    traffic = judge.TRAFFIC[lab.placement]
    hits = {each.where: each.captured.canary_hits for each in seen if each.captured.canary_hits}
    packets = sum(each.captured.packets for each in seen)
    return [
        Check(
            f"nothing clear during the measurement ({traffic})",
            not hits,
            "; ".join(f"readable in {count} packets on {where}" for where, count in hits.items())
            or f"the canary was in none of {packets} captured packets",
            judge.REMEDY,
            {"packets": packets, "canary_hits": hits},
        )
    ]


def _crossed(received: int, sent: int) -> Check:
    return Check(
        "the cluster's network carries packets",
        received > 0,
        f"{received} of {sent} marked packets came back",
        "a network policy may block them: see the policies of the pods' namespace",
    )
