"""Tests of what happens while a path is up: restarts, new keys, servers that die, a smaller MTU."""

from __future__ import annotations

from culvert.features.criteria import Criterion
from culvert.features.verify.bench import (
    Bench,
    FeatureTest,
    Finding,
    Undecided,
    carries,
    crossing,
    require_direct,
    traffic,
)
from culvert.measurements.mtu.mtu import MtuParameters, one_direction
from culvert.proof.canary import echo_marked
from culvert.topology.shapes import CORE
from culvert.vpns.abilities import rekeying

SLACK_S = 10.0
LOWER_MTU = 1280
"""Below what a VPN may expect of an underlay of 1500; every IPv6 link carries it."""


class SameAfterRestart(FeatureTest):
    """A member is killed (SIGKILL) and started: it has the same address, and packets cross."""

    name = "same-after-restart"
    criterion = Criterion.IDENTITY

    def run(self, bench: Bench) -> Finding:
        with bench.session() as session:
            vpn, source = session.vpn, session.source
            before = vpn.inner(source)
            vpn.crash(source)
            vpn.join(source)
            vpn.reach(session.path)
            after = vpn.inner(source)
            crossed = carries(session)
        detail = f"{before.ip} before, {after.ip} after; {crossing(crossed)}"
        return Finding(before == after and crossed, detail)


class NewKeys(FeatureTest):
    """New session keys are agreed while the path is up, and packets cross afterwards."""

    name = "new-keys"
    criterion = Criterion.KEY_ROTATION

    def run(self, bench: Bench) -> Finding:
        """Rekey at once, or wait until the VPN does."""
        with bench.session() as session:
            vpn = rekeying(session.vpn)
            with traffic(session, session.vpn.rekey_deadline_s + SLACK_S):
                vpn.rekey(session.path)
            crossed = carries(session)
        return Finding(crossed, f"new keys; {crossing(crossed)}")


class WithoutServers(FeatureTest):
    """All servers are killed (SIGKILL): packets cross a path that was up."""

    name = "without-servers"
    criterion = Criterion.NO_CENTRE

    def run(self, bench: Bench) -> Finding:
        """Kill them; no server is also an answer."""
        with bench.session() as session:
            vpn = session.vpn
            require_direct(vpn.route(session.path))
            servers = session.lab.of_role(*vpn.needs)
            for server in servers:
                vpn.crash(server)
            crossed = carries(session)
        killed = ", ".join(server.name for server in servers) or "no server"
        return Finding(crossed, f"{killed} killed; {crossing(crossed)}")


class OnlyCiphertext(FeatureTest):
    """Marked packets are readable on no link and at no relay while they cross."""

    name = "only-ciphertext"
    criterion = Criterion.END_TO_END

    def run(self, bench: Bench) -> Finding:
        """Capture at both ends' links and at the relays, and inside a relay that decrypts."""
        with bench.session() as session:
            captures = list(session.outside.begin_all_sent(record=0).values())
            captures += session.look_at_relays().values()
            captures += session.look_inside_relay().values()
            for capture in captures:
                capture.ready()
            answered = echo_marked(session)
            captured = [capture.end() for capture in captures]
            route = session.vpn.determine_route(session.path)
        if not answered.received:
            raise Undecided("no marked packet came back")
        hits = sum(each.canary_hits for each in captured)
        packets = sum(each.packets for each in captured)
        if not packets:
            raise Undecided("the packets crossed, and none was captured")
        return Finding(hits == 0, f"{route}: readable in {hits} of {packets} captured packets")


class SmallerMtu(FeatureTest):
    """The link between core and target gets an MTU of 1280 while the path is up: what the interface
    accepts arrives without fragments outside, or the sender is notified."""

    name = "smaller-mtu"
    criterion = Criterion.MTU

    def run(self, bench: Bench) -> Finding:
        """Search for the largest packets, from the source to the target."""
        with bench.session() as session:
            core, target = session.lab.nodes[CORE], session.target
            networks = session.lab.spec.topology.networks_of(CORE)
            place = [target.name in network.ends for network in networks].index(True)
            # Both ends: a veth drops what is longer than the other end's MTU without any notice.
            core.set_link(session.lab.attachments(CORE)[place].device, mtu=LOWER_MTU)
            target.set_link(target.underlay.device, mtu=LOWER_MTU)
            found = one_direction(session, MtuParameters().oversize)
        if found.largest is None:
            raise Undecided("no packet of any size arrived")
        detail = f"largest packet {found.largest} bytes"
        detail += "; longer ones vanish" if found.black_hole else ""
        detail += "; fragments on the link" if found.fragments_outside else ""
        return Finding(not found.black_hole and not found.fragments_outside, detail)
