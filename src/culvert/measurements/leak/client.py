"""The applications on the client, and the public host that answers them.

::

    applications on client ── tunnel ── gateway ── public: echo, web server, resolver
                  └────────── leak ──── core ──────┘         of IPv4 and IPv6
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_interface
from typing import Any

from culvert.errors import NotPossible, ProbeError
from culvert.labs.node import Node
from culvert.labs.router import firewall
from culvert.measurements.leak.resolver import Resolver
from culvert.probe.client import Probe, Task
from culvert.probe.results import FlowTallies, FlowTally, parse
from culvert.topology.graph import Role
from culvert.topology.ip import Address, Interface, IpVersion
from culvert.topology.plan import Attachment, plan
from culvert.trial.session import Session

SLOWER = 5
"""Connections and look-ups are that many times as rare as datagrams."""
_ENDING_S = 15.0
_FAMILY = {IpVersion.V4: "ip", IpVersion.V6: "ip6"}


class FlowKind(StrEnum):
    """Kinds of flows, by their names in the probe's protocol."""

    UDP = "udp"
    ICMP = "icmp"
    TCP = "tcp"
    TCP_STREAM = "tcp_stream"
    DNS = "dns"


@dataclass(frozen=True)
class Services:
    """What listens on the public host, by kind, at one of its addresses."""

    address: Address
    tasks: Mapping[FlowKind, Task]

    @classmethod
    def begin(cls, probe: Probe, address: Address, token: str, idle_s: float) -> Services:
        """Start them; they end after so long without a request."""
        common = {"bind": str(address), "token": token, "idle_s": idle_s}
        kinds = {
            FlowKind.UDP: "echo",
            FlowKind.TCP: "tcp_responder",
            FlowKind.DNS: "dns_responder",
        }
        return cls(address, {kind: probe.begin(task, **common) for kind, task in kinds.items()})

    def flows(self, rate_pps: float) -> Iterator[dict[str, Any]]:
        """The flows to it, as the probe requests them; the resolver's address is the system's."""
        six = "6" if IpVersion(self.address.version) is IpVersion.V6 else ""
        ports = {kind: task.port() for kind, task in self.tasks.items()}
        for kind in (FlowKind.UDP, FlowKind.ICMP, FlowKind.TCP, FlowKind.TCP_STREAM):
            rare = kind in (FlowKind.TCP, FlowKind.ICMP)
            yield {
                "name": f"{kind}{six}",
                "kind": kind.value,
                "to": str(self.address),
                "port": ports.get(FlowKind.TCP if kind is FlowKind.TCP_STREAM else kind, 0),
                "rate_pps": rate_pps / SLOWER if rare else rate_pps,
            }

    def stop(self) -> None:
        for task in self.tasks.values():
            with suppress(ProbeError):  # it has ended by itself
                task.stop()


class Applications:
    """All flows, from their start to their end."""

    def __init__(
        self, session: Session, resolver: Resolver, rate_pps: float, lasting_s: float
    ) -> None:
        self._session = session
        self._resolver = resolver
        host = public_host(session)
        probe = session.others[host.name]
        idle_s = lasting_s + _ENDING_S
        self._services = [
            Services.begin(probe, address, session.token, idle_s) for address in addresses_of(host)
        ]
        resolver.use(str(host.underlay.address.ip))
        flows = [flow for service in self._services for flow in service.flows(rate_pps)]
        flows.append({"name": "dns", "kind": "dns", "rate_pps": rate_pps / SLOWER})
        self.flows: Sequence[Mapping[str, Any]] = flows
        self._lasting_s = lasting_s
        self._task = self._begin()

    def _begin(self) -> Task:
        session = self._session
        task = session.a.begin(
            "applications", flows=self.flows, duration_max_s=self._lasting_s, **session.marks
        )
        task.ready()
        return task

    def renew(self) -> Mapping[str, FlowTally]:
        """What became of their messages so far; then they begin anew."""
        tallies = self._end()
        self._task = self._begin()
        return tallies

    def _end(self) -> Mapping[str, FlowTally]:
        found = parse(FlowTallies, self._task.stop(_ENDING_S))
        return {tally.name: tally for tally in found.flows}

    def close(self) -> None:
        """End them: what they send goes beside the tunnel of the proof that follows."""
        self._end()
        self._resolver.stop()
        for service in self._services:
            service.stop()


def fall_silent(session: Session) -> None:
    """Drop what the client and the public host still send each other beside the tunnel, such as the
    last packets of connections: it is not of the proof that follows."""
    client, host, router = session.source, public_host(session), session.lab.of_role(Role.ROUTER)[0]
    beside = provider_of(session, client).device
    internet = provider_of(session, host).device
    outwards = [
        f'oifname "{client.underlay.device}" {_FAMILY[IpVersion(each.version)]} daddr {each} drop'
        for each in addresses_of(host)
    ]
    firewall.apply(client, _table("output", outwards))
    inwards = [f'iifname "{internet}" oifname "{beside}" drop']
    firewall.apply(router, _table("forward", inwards))


def _table(hook: str, rules: Sequence[str]) -> str:
    lines = "\n".join((f"type filter hook {hook} priority filter;", *rules))
    return f"table inet culvert_silence {{\nchain {hook} {{\n{lines}\n}}\n}}\n"


def public_host(session: Session) -> Node:
    """The host that applications reach; raises NotPossible in a topology without one."""
    hosts = session.lab.of_role(Role.PUBLIC)
    if not hosts:
        raise NotPossible(
            f"topology {session.lab.spec.topology.name}",
            "has no public host that a client reaches by its tunnel",
            'write topology = "public" in [lab]',
        )
    return hosts[0]


def provider_of(session: Session, client: Node) -> Attachment:
    """The provider's end of a client's link."""
    cables = plan(session.lab.spec.topology).cables
    cable = next(cable for cable in cables if client.name in cable.network.ends)
    return cable.end(cable.network.beyond(client.name)).attachment


def addresses_of(node: Node) -> list[Address]:
    """All of a node on the underlay, but link-local ones."""
    return [node.underlay.address.ip, *(each.ip for each in global_ipv6(node))]


def global_ipv6(node: Node) -> list[Interface]:
    """A node's IPv6 addresses on the underlay, but link-local ones."""
    shown = node.run(
        ["ip", "-6", "-br", "address", "show", "dev", node.underlay.device, "scope", "global"]
    )
    return [ip_interface(word) for word in shown.stdout.split() if "/" in word]
