"""Nebula: a mesh of certificates with a lighthouse, and a relay where a variant needs one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from ipaddress import IPv4Interface

from culvert.topology.graph import SERVERS
from culvert.vpns.authoring import (
    DIRECT,
    Host,
    Lab,
    MeshVpn,
    Node,
    OuterPacket,
    Path,
    Policy,
    Process,
    Role,
    Route,
    Variant,
    log_tail,
    read_go_build,
    wait_for_device,
    wait_for_ping,
)
from culvert.vpns.nebula import certificates, console, settings
from culvert.vpns.nebula import packet as outer
from culvert.vpns.nebula.console import Consoles
from culvert.vpns.nebula.settings import CONFIG, PROGRAM, chosen

_LISTENS = "SSH server is listening"
"""In the log after the tunnel's socket is bound and the device is up."""


class Nebula(MeshVpn):
    """Members start without a tunnel; the first packet for another member makes one."""

    name = "nebula"
    summary = "Nebula (Noise, certificates), a mesh in user space, direct or by a relay"
    variants = settings.VARIANTS
    options = settings.OPTIONS
    ipv6_inside = routes_behind = True
    role = "nebula"
    programs = (PROGRAM, certificates.PROGRAM, console.CLIENT)
    server_capabilities = None
    direct = frozenset({"aes", "chacha"})
    poll_s = 0.0002
    """Its log is read at once."""
    device, port = settings.DEVICE, settings.PORT
    messages = outer.MESSAGES
    up_deadline_s = 30.0
    on_demand = True
    rekey_deadline_s = 30.0
    """It looks at a tunnel every 5 s or, after a test packet, 10 s (connection_manager.go)."""

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(chosen(variant, options), options)
        self._consoles = Consoles()

    def version(self, host: Host) -> str:
        """Versions of the module and the compiler; of a package, what the program prints."""
        program = self.program(host, PROGRAM)
        build = read_go_build(host, program)
        if build and build.version:
            return f"{build.version} ({build.go})"
        return host.run([program, "-version"]).stdout.strip().removeprefix("Version: ")

    def choose(self, lab: Lab) -> None:
        """Also the port of the consoles."""
        super().choose(lab)
        self._consoles = Consoles(lab.free_port(console.PORT))

    def configure(self) -> None:
        """An authority on the lighthouse; keys, certificates and configurations of all nodes."""
        servers = self.lab.of_role(*SERVERS)
        for node in (*servers, *self.lab.members):
            text = settings.configuration(self, node, self._consoles.port)
            node.write(CONFIG, json.dumps(text, indent=1))
        self._authority = certificates.Authority(self.control)
        for node in (*servers, *self.lab.members):
            self.certify(node)

    def certify(self, node: Node) -> None:
        """A new key and certificate for a node."""
        ipv6 = None if node.role in SERVERS else self.inner_ipv6(node)
        behind = self.lab.behind if node.role is Role.GATEWAY else ()
        self._authority.issue(node, self.inner(node), ipv6, behind=behind)

    def serve(self, server: Node) -> None:
        """Start a lighthouse or relay, which is ready when it listens."""
        self._launch(server)
        if server.role is not Role.CONTROL:
            self._await_registration(server)

    def start(self, member: Node) -> None:
        """Start it; others can reach it when the lighthouse has its address."""
        process = self._launch(member)
        wait_for_device(self.id, member, self.device, process, deadline_s=self.up_deadline_s)
        self._await_registration(member)

    def reach(self, path: Path) -> None:
        """Start the source if it does not run; up when a ping is answered."""
        source, target = self.lab.ends(path)
        if not self.processes[source.name]:
            self.start(source)
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
        self.await_fact(
            lambda: self._consoles.has_another(source, peer, before),
            self.processes[source.name][0],
            f"node {source.name} made a tunnel to {peer} with its new certificate",
            deadline_s=self.rekey_deadline_s,
            poll_s=0.05,  # each starts a program
        )

    def apply_policy(self, policy: Policy) -> None:
        settings.apply_policy(self, policy, self._consoles)

    def _both_ways(self, path: Path) -> tuple[tuple[Node, str], tuple[Node, str]]:
        """Each end, with the other's address inside the mesh."""
        source, target = self.lab.ends(path)
        return (source, str(self.inner(target).ip)), (target, str(self.inner(source).ip))

    def _launch(self, node: Node) -> Process:
        process = self.launch(node, PROGRAM, "-config", str(node.directory / CONFIG))
        what = f"{PROGRAM} on node {node.name} listened"
        self.await_fact(lambda: _LISTENS in process.log_text(), process, what)
        return process

    def _await_registration(self, node: Node) -> None:
        (process,) = self.processes[node.name]
        (lighthouse,) = self.processes[self.control.name]
        self.await_fact(
            lambda: self._consoles.has_registered(self.control, str(self.inner(node).ip)),
            lighthouse,
            f"the lighthouse (node {self.control.name}) had the address of node {node.name}",
            evidence=lambda: f"{process.name} of node {node.name}{log_tail(process)}",
            poll_s=0.01,  # each starts a program
        )

    def sweep(self, node: Node, ended: Sequence[Process]) -> None:
        del ended
        self._consoles.close(node)

    # -- what the proof needs ----------------------------------------------------------------------

    def inner(self, node: Node) -> IPv4Interface:
        """Of a server from the end of the members' network."""
        servers = self.lab.of_role(*SERVERS)
        if node not in servers:
            return super().inner(node)
        network = super().inner(self.lab.members[0]).network
        return IPv4Interface(f"{network[-2 - servers.index(node)]}/{network.prefixlen}")

    def determine_route(self, path: Path) -> Route:
        """Direct only if both ends send to an address of the other."""
        source, target = self.lab.ends(path)
        there, back = self.route_to(source, target), self.route_to(target, source)
        return back if there == DIRECT else there

    def route_to(self, node: Node, peer: Node) -> Route:
        end = self._consoles.established(node, str(self.inner(peer).ip))
        return DIRECT if end.remote or not end.relays else Route(self.relay.name)

    def outer_length(self, inner_length: int) -> int | None:
        """With a header and a tag, two of each through a relay."""
        return outer.outer_length(inner_length, relayed=not self.claims_direct)

    def is_handshake(self, packet: OuterPacket) -> bool:
        """Noise's messages, direct or through a relay."""
        return outer.is_handshake(packet)
