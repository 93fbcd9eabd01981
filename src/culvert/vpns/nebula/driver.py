"""Nebula: a mesh of certificates with a lighthouse, and a relay where a variant needs one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from ipaddress import IPv4Interface
from typing import ClassVar

from culvert.labs.base import Lab
from culvert.labs.capability import Capability
from culvert.labs.host import Host
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.topology.graph import SERVERS, Path, Role
from culvert.vpns.base import underlay_address
from culvert.vpns.facts import wait_for_device, wait_for_fact, wait_for_ping
from culvert.vpns.nebula import certificates, console, program, settings
from culvert.vpns.nebula import packet as outer
from culvert.vpns.nebula.program import PROGRAM
from culvert.vpns.nebula.settings import CONFIG, DEVICE, PORT, Mesh, Server
from culvert.vpns.nebula.state import Consoles
from culvert.vpns.nebula.variants import CIPHERS, OPTIONS, RELAY, VARIANTS, chosen
from culvert.vpns.outer import OuterPacket
from culvert.vpns.policy import Policy
from culvert.vpns.tundevice import TunDevice
from culvert.vpns.variant import DIRECT, Missing, Route, Variant

_MTU = 1300
"""Of the device, by default (tun.mtu)."""
_LISTENS = "SSH server is listening"
"""In the log after the tunnel's socket is bound and the device is up."""


class Nebula(TunDevice):
    """Members start without a tunnel; the first packet for another member makes one."""

    name = "nebula"
    summary = "Nebula (Noise, certificates), a mesh in user space, direct or by a relay"
    variants: ClassVar[tuple[Variant, ...]] = VARIANTS
    options: ClassVar[Mapping[str, str]] = OPTIONS
    joins_together = True
    role = "nebula"
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.NET_ADMIN})
    device = DEVICE
    port = PORT
    messages = outer.MESSAGES
    up_deadline_s = 15.0
    on_demand = True
    rekey_deadline_s = 30.0
    """It looks at a tunnel every 5 s or, after a test packet, 10 s (connection_manager.go)."""

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(chosen(variant, options), options)
        self.relayed = variant.name == RELAY
        self._consoles = Consoles()

    def missing(self, host: Host) -> list[Missing]:
        """Its programs, an SSH client for its console, and /dev/net/tun."""
        return program.missing(host, self.id)

    def version(self, host: Host) -> str:
        """Versions of the module and the compiler, or of the package."""
        return program.version(host)

    def choose(self, lab: Lab) -> None:
        """The device, the port, and that of the consoles."""
        self.device, self.port = lab.free_device(DEVICE), lab.free_port(PORT)
        self._consoles = Consoles(lab.free_port(console.PORT))

    def configure(self) -> None:
        """An authority on the lighthouse; keys, certificates and configurations of all nodes."""
        servers = self.lab.of_role(*SERVERS)
        mesh = Mesh(
            [Server(each.role, self.inner(each).ip, underlay_address(each)) for each in servers],
            CIPHERS[self.variant.cipher],
            mtu=min(_MTU, self.lab.spec.mtu - (self.outer_length(0) or 0)),
            only_relayed=self.relayed,
            device=self.device,
            port=self.port,
            console_port=self._consoles.port,
        )
        for node in (*servers, *self.lab.members):
            node.write(CONFIG, json.dumps(mesh.configuration(node), indent=1))
        self._authority = certificates.Authority(self._lighthouse)
        for node in (*servers, *self.lab.members):
            self.certify(node)

    def certify(self, node: Node) -> None:
        """A new key and certificate for a node."""
        ipv6 = None if node.role in SERVERS else self.inner_ipv6(node)
        self._authority.issue(node, self.inner(node), ipv6)

    def serve(self, server: Node) -> None:
        """Start a lighthouse or relay, which is ready when it listens."""
        self._start(server)
        if server.role is not Role.CONTROL:
            self._await_registration(server)

    def join(self, member: Node) -> None:
        """Start it; others can reach it when the lighthouse has its address."""
        process = self._start(member)
        wait_for_device(self.id, member, self.device, process, deadline_s=self.up_deadline_s)
        self._await_registration(member)

    def reach(self, path: Path) -> None:
        """Start the source if it does not run; up when a ping is answered."""
        source, target = self.lab.ends(path)
        if not self.processes[source.name]:
            self.join(source)
        (process,) = self.processes[source.name]
        address = self.inner(target).ip
        wait_for_ping(self.id, source, address, process, deadline_s=self.up_deadline_s)

    def drop(self, path: Path) -> None:
        """Both ends forget the tunnel; the next packet makes another."""
        for node, peer in self._both_ways(path):
            self._consoles.close_tunnels(node, peer)

    def rekey(self, path: Path) -> None:
        """A new certificate at the source, which soon makes a new tunnel with it."""
        (source, peer), _ = self._both_ways(path)
        self.certify(source)
        before = self._consoles.established(source, peer)
        self._consoles.reload(source)
        wait_for_fact(
            lambda: self._consoles.has_another(source, peer, before),
            vpn=self.id,
            process=self.processes[source.name][0],
            what=f"node {source.name} made a tunnel to {peer} with its new certificate",
            deadline_s=self.rekey_deadline_s,
            poll_s=0.05,  # each is a request to the console
        )

    def apply_policy(self, policy: Policy) -> None:
        """Each member reads its rules again."""
        settings.apply_policy(self, policy, self._consoles)

    def _both_ways(self, path: Path) -> tuple[tuple[Node, str], tuple[Node, str]]:
        """Each end, with the other's address inside the mesh."""
        source, target = self.lab.ends(path)
        return (source, str(self.inner(target).ip)), (target, str(self.inner(source).ip))

    def _start(self, node: Node) -> Process:
        argv = [program.require(node), "-config", str(node.directory / CONFIG)]
        process = node.daemon(argv, name=PROGRAM, capabilities=self.capabilities)
        self.processes[node.name].append(process)
        self._await(
            lambda: _LISTENS in process.log_text(), node, f"{PROGRAM} on node {node.name} listened"
        )
        return process

    def _await_registration(self, node: Node) -> None:
        self._await(
            lambda: self._consoles.has_registered(self._lighthouse, str(self.inner(node).ip)),
            node,
            f"the lighthouse (node {self._lighthouse.name}) had the address of node {node.name}",
        )

    def _await(self, fact: Callable[[], bool], node: Node, what: str) -> None:
        (process,) = self.processes[node.name]
        wait_for_fact(fact, vpn=self.id, process=process, what=what, deadline_s=self.up_deadline_s)

    def _stop_processes(self, node: Node, *, grace_s: float = 2.0) -> None:
        super()._stop_processes(node, grace_s=grace_s)
        self._consoles.close(node)

    @property
    def _lighthouse(self) -> Node:
        return self.lab.of_role(Role.CONTROL)[0]

    # -- what the proof needs ----------------------------------------------------------------------

    def inner(self, node: Node) -> IPv4Interface:
        """Of a server from the end of the members' network."""
        servers = self.lab.of_role(*SERVERS)
        if node not in servers:
            return super().inner(node)
        network = super().inner(self.lab.members[0]).network
        return IPv4Interface(f"{network[-2 - servers.index(node)]}/{network.prefixlen}")

    def route(self, path: Path) -> Route:
        del path
        return Route(self.lab.of_role(Role.RELAY)[0].name) if self.relayed else DIRECT

    def determine_route(self, path: Path) -> Route:
        """By the hostmaps of both ends: direct only if both send to an address of the other."""
        ends = [self._consoles.established(*both) for both in self._both_ways(path)]
        relays = [relay for end in ends if not end.remote for relay in end.relays]
        names = {str(self.inner(each).ip): each.name for each in self.lab.of_role(Role.RELAY)}
        return Route(names[relays[0]]) if relays else DIRECT

    def outer_length(self, inner_length: int) -> int | None:
        """With a header and a tag, two of each through a relay."""
        return outer.outer_length(inner_length, relayed=self.relayed)

    def is_handshake(self, packet: OuterPacket) -> bool:
        """Noise's messages, direct or through a relay."""
        return outer.is_handshake(packet)
