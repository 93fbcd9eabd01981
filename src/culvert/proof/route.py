"""The path of packets: in the kernel or in user space, direct or relayed. A variant claims it, the
kernel and the program report it, and relays count it.

A relayed path is proved by its packets on the relay's link, which must be ciphertext; a direct path
by their absence there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from culvert.labs.node import Node
from culvert.probe.results import Accounted
from culvert.proof.reconcile import LinkCount
from culvert.proof.underlay import requested_loss
from culvert.topology.graph import Role
from culvert.topology.link.impairment import OneWay
from culvert.topology.link.spec import LinkSpec
from culvert.trial.check import Check
from culvert.trial.session import Session
from culvert.trial.watch import Watched
from culvert.vpns.base import Vpn

ALL_BUT = 0.02
"""Share of the path's packets that a relay's counters may miss: they are read at other times. What
the links lose on the way is added."""
MOST_OF = 0.5
"""Share of the packets of a steady stream that must, or must not, cross the relay."""
TO_SERVERS_PACKETS = 5
"""Packets that both ends may send to control servers between two readings of the counters."""
_MOST_MISSING = 0.98
"""A path with any loss still shows its relay."""
BESIDE = 0.02
"""Packets that a relay may see, as a share of a direct path's: what the path's load causes."""
BESIDE_PACKETS = 20
BESIDE_PPS = 10
"""Packets per second that a relay may see: keepalives, and members that look for paths."""
BESIDE_MOST = 0.25
"""In no case more, so that the packets of a short trial cannot all cross the relay."""


def judge_data_path(vpn: Vpn, ends: Iterable[Node]) -> Check:
    """A kernel VPN that silently falls back to user space, or the reverse, is another VPN."""
    found = {node.name: vpn.determine_data_path(node) for node in ends}
    passed = all(path == vpn.data_path for path in found.values())
    found_on = ", ".join(f"{path} on {name}" for name, path in found.items())
    return Check(
        "data path",
        passed,
        f"packets are handled in {found_on}; {vpn.id} claims {vpn.data_path}",
        "the VPN uses another data path: check its log and the kernel's modules",
        {name: str(path) for name, path in found.items()},
    )


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
    lost = most_lost(session.link, packets=sent, seconds=watched.seconds)
    missing = min(ALL_BUT + lost, _MOST_MISSING)
    most_beside = BESIDE * sent + BESIDE_PACKETS + BESIDE_PPS * watched.seconds
    checks = _by_own_count(watched, relayed=via is not None)
    for relay in relays:
        device = watched.others[relay.name].device(relay.underlay.device)
        crossed = device.rx_packets if device is not None else 0
        used = relay.name == via
        enough = crossed >= (1 - missing) * to_relay - TO_SERVERS_PACKETS
        beside = crossed <= min(most_beside, BESIDE_MOST * sent)
        name = f"packets through {relay.name}"
        expected = "all of them" if used else "none of them"
        passed = enough if used else beside
        checks.append(_crossing(name, relay.name, crossed, sent, used, passed, expected))
    return checks


def judge_steady_route(name: str, relay: str, *, crossed: int, sent: float, relayed: bool) -> Check:
    """Of a steady stream each way most packets cross the relay if the path is relayed, else few."""
    passed = (crossed >= MOST_OF * sent) == relayed
    expected = f"{'most' if relayed else 'few'} of them"
    return _crossing(name, relay, crossed, sent, relayed, passed, expected)


def _crossing(
    name: str, relay: str, crossed: int, sent: float, relayed: bool, passed: bool, expected: str
) -> Check:
    return Check(
        name,
        passed,
        f"{crossed} packets arrived at {relay} while both ends sent {sent:.0f}; "
        f"expected: {expected}",
        "the path changed meanwhile, or the program's report of it is wrong",
        {"crossed": crossed, "sent": sent, "relayed": relayed},
    )


def judge_all_relayed(
    session: Session, *, sent: int, received: int, members: int, seconds: float
) -> Check:
    """That of all packets which members sent, those to servers too, the servers received as many:
    then none went from member to member. The servers are counted for longer; each member may have
    sent one packet elsewhere."""
    lost = most_lost(session.link, packets=sent, seconds=seconds)
    least = (1 - min(ALL_BUT + lost, _MOST_MISSING)) * sent - members
    return Check(
        "no packet went from member to member",
        received >= least,
        f"{members} members sent {sent} packets, of which {received} arrived at the servers",
        "some pairs have a direct path, against the VPN's report: check its own status of them",
        {"sent": sent, "received": received},
    )


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


def most_lost(link: LinkSpec, *, packets: int, seconds: float) -> float:
    """Largest share of a path's packets, sent in ``seconds``, that its links lose as requested, in
    the worse direction."""
    ways = (link.impairment.a_to_b, link.impairment.b_to_a)
    return max(_most_lost_in(way, packets, seconds) for way in ways)


def _most_lost_in(way: OneWay, packets: int, seconds: float) -> float:
    """A path that is measured has no packets of a protocol that the link drops altogether."""
    dark_s = 0.0 if way.blackout is None else way.blackout.for_ns / 1e9
    dark = min(dark_s / max(seconds, 1e-9), 1.0)
    if isinstance(way.loss, tuple):
        return dark + len(way.loss) / max(packets, 1)
    return dark + (requested_loss(replace(way, blackout=None, drop_udp=False)) or 0.0)


def _sent(session: Session, watched: Watched) -> int:
    """Packets that both ends of the path sent on their links."""
    ends = (session.source, session.target)
    used: list[tuple[str, Accounted]] = [
        (node.underlay.device, watched.nodes[node.name].accounted) for node in ends
    ]
    devices = (accounted.device(name) for name, accounted in used)
    return sum(device.tx_packets for device in devices if device is not None)


def to_control(session: Session, watched: Watched) -> LinkCount:
    """What the VPN's control servers received, all together: the ends may have sent as much beside
    the path's packets. Nothing where a real link carries other traffic too."""
    nodes = () if session.lab.real_links else session.lab.of_role(Role.CONTROL)
    accounts = [(node, watched.others[node.name]) for node in nodes if node.name in watched.others]
    devices = [used.device(node.underlay.device) for node, used in accounts]
    known = [device for device in devices if device is not None]
    packets = sum(device.rx_packets for device in known)
    frame_bytes = sum(device.rx_bytes for device in known)
    return LinkCount.of_frames(packets, frame_bytes, "the control servers")
