"""One trial of ``leak``, with what a test plants instead of a phase."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Any

from culvert.labs.netns.node import NetnsNode
from culvert.labs.node import Node
from culvert.measurements.leak import leak
from culvert.measurements.leak.leak import Leak
from culvert.measurements.leak.phases import Phase, PhaseAction
from culvert.measurements.leak.resolver import Resolver
from culvert.run.trials.finding import TrialFinding
from culvert.topology.shapes import public
from culvert.topology.spec import LabSpec
from culvert.trial.session import Session
from tests.run.cells import measure, vpn

SPEC = LabSpec(topology=public())
SHORT = {"hold": "700ms", "suspend": "1500ms"}
GAP_S = 0.3
ROUTER_LIFETIME_S = 60


def after(word: str, phase: str, **parameters: Any) -> TrialFinding:
    """One trial of a phase."""
    return measure(vpn(word), Leak(), {"phase": phase, **SHORT, **parameters}, SPEC)


def leaked(finding: TrialFinding) -> dict[str, float]:
    """Leaked packets by kind, of the kinds that leaked."""
    return {
        metric.labels["kind"]: metric.value
        for metric in finding.outcome.metrics
        if metric.name == "leaked_packets" and metric.labels and metric.value
    }


@dataclass(frozen=True)
class Planted(PhaseAction):
    """What a test does while the tunnel runs."""

    plant: Callable[[Session], None]

    def cause(self, session: Session) -> None:
        self.plant(session)


def planting(monkeypatch: Any, plant: Callable[[Session], None]) -> None:
    """From now on it is what happens in each trial."""

    def planted(phase: Phase, resolver: Resolver, hold_s: float, suspend_s: float) -> PhaseAction:
        return Planted(resolver, hold_s, plant)

    monkeypatch.setattr(leak, "action_for", planted)


def one_query(session: Session) -> None:
    """One DNS query beside the tunnel: from a socket that is bound to the underlay's device."""
    client = _namespace(session.source)
    (public_host,) = (node for node in session.lab.nodes.values() if node.name == "public")
    to = (str(public_host.underlay.address.ip), 53)
    query = struct.pack("!6H", 7, 0x100, 1, 0, 0, 0) + b"\x06leaked\x04test\x00\x00\x01\x00\x01"

    def send() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            device = client.underlay.device.encode()
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device)
            sender.sendto(query, to)

    client.inside(send)


def gap_in_the_route(session: Session) -> None:
    """WireGuard's rule is gone for 300 ms: the main table's default route leads beside the
    tunnel."""
    rule = ["not", "fwmark", "51820", "table", "51820"]
    session.source.run(["ip", "-4", "rule", "del", *rule])
    time.sleep(GAP_S)
    session.source.run(["ip", "-4", "rule", "add", *rule])


def no_ipv6(_: object, session: Session) -> None:
    """The client has no route of IPv6 any more."""
    device = session.source.underlay.device
    session.source.run(["ip", "-6", "address", "flush", "dev", device, "scope", "global"])
    session.source.run(["ip", "-6", "route", "flush", "default"])


def router_advertisement(session: Session) -> None:
    """One router advertisement (RFC 4861) of the provider, with a prefix for addresses."""
    router = _namespace(session.lab.nodes["core"])
    prefix = IPv6Address("2001:2:0:aaaa::")
    flags = 0xC0  # on this link, and for addresses
    lifetimes = struct.pack("!III", 3600, 3600, 0)
    option = struct.pack("!BBBB", 3, 4, 64, flags) + lifetimes + prefix.packed
    advertisement = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, ROUTER_LIFETIME_S, 0, 0) + option

    def send() -> None:
        with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as sender:
            index = socket.if_nametoindex("u0")
            sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
            sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
            sender.sendto(advertisement, ("ff02::1", 0, 0, index))

    router.inside(send)


def _namespace(node: Node) -> NetnsNode:
    assert isinstance(node, NetnsNode)
    return node
