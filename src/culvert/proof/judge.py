"""Checks of the timed part of a trial, which must pass before its numbers count."""

from __future__ import annotations

from functools import partial

from culvert.labs.node import Node
from culvert.proof.capture import HANDSHAKE_PACKETS, judge_capture
from culvert.proof.load import load_costs_time
from culvert.proof.reconcile import LinkCount, reconcile
from culvert.proof.route import judge_relays, to_control
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.traffic import Flow, InnerTraffic
from culvert.trial.watch import Watched
from culvert.vpns.base import length_on_underlay


def judge_outcome(session: Session, outcome: Outcome) -> list[Check]:
    """Checks of everything that was watched, and the measurement's own checks."""
    lab, link = session.lab, session.link
    # First the cause: what was measured on a link that was late shows its lateness.
    checks = [
        Check(
            "the link delivered the requested values",
            passed=False,
            detail=fault,
            remedy="request a lower rate or delay, or stop other programs on this machine",
        )
        for fault in lab.faults()
    ]
    checks += outcome.doubts
    for watched in outcome.watched:
        # Without a steady load the tunnel may connect at any time, and often.
        handshakes = None if outcome.traffic is None else HANDSHAKE_PACKETS
        checks += _of_captures(session, watched, handshakes)
        if not link.offloads:
            checks.append(_only_wire_packets(watched))
        if outcome.traffic is not None:
            checks += _of_bytes(session, watched, outcome.traffic)
        checks += judge_relays(session, watched)
        checks += load_costs_time(session, watched)
    checks += _losses_are_possible(outcome)
    return checks


def _of_captures(session: Session, watched: Watched, readable: int | None) -> list[Check]:
    """The receiver's capture must contain the tunnel's packets; the sender's no packet beside them.

    Without a VPN, the capture with more canaries must contain clear text: data may flow one way.
    """
    vpn, impairment = session.vpn, session.link.impairment
    if vpn.outer_flow is None:
        name, most = max(watched.nodes.items(), key=lambda one: one[1].captured.canary_hits)
        return judge_capture(vpn, most.captured, f"towards {name}")
    checks = []
    ways = ((session.target, impairment.a_to_b), (session.source, impairment.b_to_a))
    for end, way in ways:
        captured = watched.nodes[end.name].captured
        if end is session.target or captured.packets:
            checks += judge_capture(
                vpn,
                captured,
                f"towards {end.name}",
                corruption=way.corrupt,
                duplication=way.duplicate,
                readable=readable,
            )
    return checks


def _only_wire_packets(watched: Watched) -> Check:
    longer = sum(node.captured.gso_packets for node in watched.nodes.values())
    return Check(
        "the link carries real packets",
        longer == 0,
        f"{longer} captured packets were longer than the link's MTU",
        "super-packets crossed a link without offloads: report this",
    )


def _of_bytes(session: Session, watched: Watched, traffic: InnerTraffic) -> list[Check]:
    source, target = session.source, session.target
    there = (traffic.a_to_b_sent, traffic.a_to_b_received)
    back = (traffic.b_to_a_sent, traffic.b_to_a_received)
    return [
        _of_direction(session, watched, (source, target), there, back[0]),
        _of_direction(session, watched, (target, source), back, there[0]),
    ]


def _of_direction(
    session: Session,
    watched: Watched,
    ends: tuple[Node, Node],
    flows: tuple[Flow, Flow],
    answered: Flow,
) -> Check:
    """``flows`` were sent and received, ``answered`` was sent in the other direction."""
    vpn, link, sender = session.vpn, session.link, ends[0]
    direction = f"{sender.name} to {ends[1].name}"
    device = watched.nodes[sender.name].accounted.device(sender.underlay.device)
    inner_mtu = session.inner_mtu(sender)
    if device is None or inner_mtu is None:
        return Check(
            f"bytes reconcile {direction}",
            passed=False,
            detail="the counters of the link or the tunnel's interface are gone",
            remedy="the VPN removed its interface during the measurement; see its log",
        )
    handed = watched.nodes[sender.name].handed
    if handed is None:
        counted = LinkCount.of_frames(
            device.tx_packets, device.tx_bytes, "the link", device.unsure_tx_bytes
        )
    else:
        counted = LinkCount.of_frames(handed.packets, handed.frame_bytes, "the wire")
    return reconcile(
        direction,
        sent=flows[0],
        received=flows[1],
        link=counted,
        outer_length=partial(length_on_underlay, vpn),
        inner_mtu=inner_mtu,
        ethernet_mtu=link.mtu,
        # The wire counts each packet of a super-packet.
        super_packets=link.offloads and handed is None,
        duplication=link.impairment.duplicates,
        to_control=to_control(session, watched),
        own_bytes=vpn.acknowledgement_bytes * answered.packets
        + vpn.connection_bytes * flows[0].connections,
        carries=vpn.carries,
        version=session.lab.spec.underlay,
    )


def _losses_are_possible(outcome: Outcome) -> list[Check]:
    return [
        Check(
            "loss is possible",
            0 <= metric.value <= 1,
            f"a loss ratio of {metric.value:.4f}",
            "more packets were counted than were sent: report this",
        )
        for metric in outcome.metrics
        if metric.name == "loss_ratio"
    ]
