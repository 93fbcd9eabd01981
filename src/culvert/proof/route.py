"""Direct or relayed: claimed by the variant, reported by the program, counted at the relays.

A relayed path is proved by its packets on the relay's link, which must be ciphertext; a direct path
by their absence there.
"""

from __future__ import annotations

from culvert.probe.results import Accounted
from culvert.proof.control import to_control
from culvert.proof.underlay import requested_loss
from culvert.topology.link.spec import LinkSpec
from culvert.trial.check import Check
from culvert.trial.session import Session
from culvert.trial.watch import Watched

ALL_BUT = 0.02
"""Share of the path's packets that a relay's counters may miss: they are read at other times. What
the links lose on the way is added."""
TO_SERVERS_PACKETS = 5
"""Packets that both ends may send to control servers between two readings of the counters."""
_MOST_MISSING = 0.98
"""A path with any loss still shows its relay."""
BESIDE = 0.02
"""Packets that a relay may see, as a share of a direct path's: keepalives and its own traffic."""
BESIDE_PACKETS = 100


def judge_route(session: Session, when: str) -> Check:
    """The route that the program reports now, compared with the variant's claim or with what a
    measurement found."""
    claimed = session.route
    found = session.vpn.determine_route(session.path)
    return Check(
        f"the path's route {when}",
        found == claimed,
        f"{session.path}: {found}; "
        + (f"{session.vpn.id} claims" if session.found is None else "measured:")
        + f" {claimed}",
        "check the VPN's own status of the path; a NAT or blocked UDP may force a relay",
        {"found": str(found), "claimed": str(claimed)},
    )


def judge_relays(session: Session, watched: Watched) -> list[Check]:
    """Checks of the packets that crossed each relay while both ends counted the path's packets."""
    relays = [node for node in session.relays if node.name in watched.others]
    if not relays:
        return []
    via = session.route.via if session.route is not None else None
    sent = _sent(session, watched)
    to_relay = sent - to_control(session, watched).packets
    missing = min(ALL_BUT + _lost(session.link), _MOST_MISSING)
    checks = _by_own_count(watched, relayed=via is not None)
    for relay in relays:
        device = watched.others[relay.name].device(relay.underlay.device)
        crossed = device.rx_packets if device is not None else 0
        used = relay.name == via
        enough = crossed >= (1 - missing) * to_relay - TO_SERVERS_PACKETS
        beside = crossed <= BESIDE * sent + BESIDE_PACKETS
        expected = "all of them" if used else "none of them"
        checks.append(
            Check(
                f"packets through {relay.name}",
                enough if used else beside,
                f"{crossed} packets arrived at {relay.name} while both ends sent {sent}; "
                f"expected: {expected}",
                "the path changed during the trial, or the program's report of it is wrong",
                {"crossed": crossed, "sent": sent, "relayed": used},
            )
        )
    return checks


def _by_own_count(watched: Watched, *, relayed: bool) -> list[Check]:
    """A check that the programs at the ends sent every packet by the claimed route, if they count
    packets by route."""
    direct_packets = sum(count.direct for count in watched.sent.values())
    relayed_packets = sum(count.relayed for count in watched.sent.values())
    if not watched.sent:
        return []
    return [
        Check(
            "all packets took the claimed route",
            (direct_packets if relayed else relayed_packets) == 0,
            f"by the VPN's own counters both ends sent {direct_packets} packets direct and "
            f"{relayed_packets} through a relay",
            "the path changed during the trial: repeat it, or give the direct path less load",
            {"direct": direct_packets, "relayed": relayed_packets},
        )
    ]


def _lost(link: LinkSpec) -> float:
    """Share of the packets that the links on the path lose as requested, in the worse direction;
    all where that depends on time or on single packets."""
    shares = map(requested_loss, (link.impairment.a_to_b, link.impairment.b_to_a))
    return max(1.0 if share is None else share for share in shares)


def _sent(session: Session, watched: Watched) -> int:
    """Packets that both ends of the path sent on their links."""
    ends = (session.source, session.target)
    used: list[tuple[str, Accounted]] = [
        (node.underlay.device, watched.nodes[node.name].accounted) for node in ends
    ]
    devices = (accounted.device(name) for name, accounted in used)
    return sum(device.tx_packets for device in devices if device is not None)
