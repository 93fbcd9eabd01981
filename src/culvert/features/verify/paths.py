"""Tests of which way packets go: NATs, relays, the direct path, every pair of a mesh."""

from __future__ import annotations

from typing import ClassVar

from culvert.features.criteria import Criterion
from culvert.features.verify.bench import (
    Bench,
    FeatureTest,
    Finding,
    Undecided,
    figures,
    require_direct,
)
from culvert.topology.graph import Path
from culvert.topology.nat import Access
from culvert.vpns.contract.observe import pings_answered
from culvert.vpns.variant import DIRECT

EVERY_PAIR = (Path("a", "b"), Path("a", "c"), Path("b", "c"))


class _Reached(FeatureTest):
    """By ``reachability`` from a member behind ``left`` to one behind ``right``."""

    left: ClassVar[Access]
    right: ClassVar[Access]
    wanted: ClassVar[str]
    """The metric that must be 1."""
    undecided: ClassVar[str] = ""
    """The metric that, if it is 1, leaves the criterion open."""

    def run(self, bench: Bench) -> Finding:
        reached = bench.reached(self.left, self.right)
        found = figures(reached.finding)
        way = next(name for name in ("direct", "relayed", "no_path") if found[name])
        words = f"{self.left} and {self.right}: {way.replace('_', ' ')}"
        if way == self.undecided:
            raise Undecided(words)
        if way == "relayed" and way != self.wanted:
            require_direct(reached.claimed)
        return Finding(way == self.wanted, words)


class DirectPath(_Reached):
    """Reachability without NATs is direct: no packet of a TCP connection crosses a relay."""

    name = "direct-path"
    criterion = Criterion.DIRECT
    left, right, wanted = Access.NONE, Access.NONE, "direct"


class HolePunching(_Reached):
    """Reachability between two members behind port-restricted NATs is direct."""

    name = "hole-punching"
    criterion = Criterion.NAT_TRAVERSAL
    left, right, wanted = Access.PORT_RESTRICTED, Access.PORT_RESTRICTED, "direct"


class RelayBehindNats(_Reached):
    """Reachability between two members behind symmetric NATs is relayed, proved at the relay."""

    name = "relay-behind-nats"
    criterion = Criterion.RELAY
    left, right, wanted, undecided = Access.SYMMETRIC, Access.SYMMETRIC, "relayed", "direct"


class RelayWithoutUdp(_Reached):
    """Reachability from a member whose UDP is blocked is relayed, proved at the relay."""

    name = "relay-without-udp"
    criterion = Criterion.RELAY_TCP
    left, right, wanted, undecided = Access.UDP_BLOCKED, Access.NONE, "relayed", "direct"


class EveryPair(FeatureTest):
    """Three members: each pair answers pings, and the program reports its path as direct."""

    name = "every-pair"
    criterion = Criterion.MESH

    def run(self, bench: Bench) -> Finding:
        with bench.up(3, EVERY_PAIR) as vpn:
            if tuple(vpn.paths) != EVERY_PAIR:
                raise Undecided("its driver connects two ends")
            require_direct(vpn.route(EVERY_PAIR[0]))
            for path in EVERY_PAIR:
                source, target = vpn.lab.ends(path)
                if not pings_answered(source, vpn.traffic_address(target)):
                    return Finding(holds=False, detail=f"{path}: no ping was answered")
                route = vpn.determine_route(path)
                if route != DIRECT:
                    return Finding(holds=False, detail=f"{path} is {route}")
        return Finding(holds=True, detail="three pairs, all direct")


class UnattendedJoin(FeatureTest):
    """A member joins two others by its driver's commands, and answers pings of one of them."""

    name = "unattended-join"
    criterion = Criterion.UNATTENDED

    def run(self, bench: Bench) -> Finding:
        """Let it leave, and join again while the others are up."""
        with bench.up(3) as vpn:
            if [member.name for member in vpn.joining] != [node.name for node in vpn.lab.members]:
                raise Undecided("its driver connects two ends")
            newcomer = vpn.lab.nodes["c"]
            vpn.leave(newcomer)
            vpn.join(newcomer)
            vpn.reach(Path("a", "c"))
            answered = pings_answered(vpn.lab.nodes["a"], vpn.traffic_address(newcomer))
        return Finding(answered > 0, f"{answered} pings of the newcomer were answered")
