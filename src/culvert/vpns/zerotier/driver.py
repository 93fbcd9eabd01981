"""ZeroTier: an Ethernet switch over the members, with a root and a controller of its own.

::

    a ── core ─┬ control    zerotier-one as the network's controller
         b ────┤
               └ relay      zerotier-one as the only root; tcp-proxy for what comes over TCP
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from ipaddress import IPv4Address, IPv4Interface

from culvert.labs.together import at_once
from culvert.vpns.authoring import (
    DIRECT,
    ONLY_IPV4,
    SEE_LOG,
    Capability,
    Host,
    Lab,
    MeshVpn,
    Node,
    OuterFlow,
    OuterPacket,
    Path,
    Policy,
    Process,
    Role,
    Route,
    Variant,
    VpnError,
    underlay_address,
)
from culvert.vpns.parts.server import await_listening
from culvert.vpns.zerotier import packet as wire
from culvert.vpns.zerotier import world
from culvert.vpns.zerotier.controller import create_network, set_rules
from culvert.vpns.zerotier.home import CLI, IDTOOL, ONE, Home
from culvert.vpns.zerotier.variants import TCP_PORT, TCP_RELAY, VARIANTS
from culvert.vpns.zerotier.world import PORT

_TCP = 6
_PROXY = "tcp-proxy"
_PUBLIC_ROOT = IPv4Address("192.0.0.8")
"""Only packets to public addresses go over TCP, and ZeroTier counts every range for tests and
documentation as private. This is the dummy address of RFC 7600, which nobody has."""


class ZeroTier(MeshVpn):
    """Identities, the planet and the network's membership are made before anything starts. The TCP
    relay's port is fixed in tcp-proxy."""

    name = "zerotier"
    summary = "ZeroTier: a virtual Ethernet with its own root and controller"
    variants = VARIANTS
    role = "zerotier"
    server_capabilities = frozenset({Capability.NET_BIND_SERVICE})
    """The relay over TCP listens at port 443."""
    programs: Sequence[str] = (ONE, CLI, IDTOOL, "curl", "ping")
    by_hand = frozenset({_PROXY})
    device = "zt0"
    port = PORT
    up_deadline_s = 60.0

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        self._over_tcp = variant.name == TCP_RELAY
        if self._over_tcp:
            self.programs = (*self.programs, _PROXY)
            self.underlays = ONLY_IPV4
        self._homes: dict[str, Home] = {}

    def version(self, host: Host) -> str:
        return f"ZeroTier {host.run([self.program(host, ONE), '-v']).stdout.strip()}"

    def configure(self) -> None:
        """Identities of all nodes, the planet with its root, and settings."""
        nodes = (*self.lab.of_role(*self.needs), *self.lab.members)
        homes = at_once(lambda node: Home.new(node, self.port), nodes)
        self._homes = {home.node.name: home for home in homes}
        root, relay = underlay_address(self.relay), self._homes[self.relay.name]
        planet = relay.planet(_PUBLIC_ROOT if self._over_tcp else root)
        # It is newer, so the root does not replace it by the other one.
        of_control = relay.planet(root)
        for name, home in self._homes.items():
            own = of_control if name == self.control.name else planet
            home.write(own, self._local_conf(home.node))

    def _local_conf(self, node: Node) -> str:
        if self.claims_direct or node.role is not Role.MEMBER:
            return world.local_conf(self.port)
        if self._over_tcp:
            return world.local_conf(self.port, tcp_relay=(underlay_address(self.relay), TCP_PORT))
        others = [self._homes[each.name] for each in self.lab.members if each is not node]
        return world.local_conf(self.port, no_path_to=[home.identity.address for home in others])

    def serve(self, server: Node) -> None:
        """Start the root, and the TCP relay beside it; or the controller, with the network."""
        over_tcp = server.role is Role.RELAY and self._over_tcp
        if over_tcp:
            server.add_address(server.underlay.device, IPv4Interface(_PUBLIC_ROOT))
        process, home = self._launch(server), self._homes[server.name]
        self.await_fact(home.answers, process, f"node {server.name} answered")
        if over_tcp:
            self._launch_proxy(server)
        if server.role is Role.CONTROL:
            root, what = self._homes[self.relay.name].identity, f"node {server.name} found the root"
            self.await_fact(lambda: home.endpoint(root) is not None, process, what)
            homes, members = self._homes, self.lab.members
            admitted = {homes[one.name].identity: self.inner(one) for one in members}
            spec = self.lab.spec
            create_network(home, admitted, mtu=wire.largest_inner(spec.mtu), ipv6=spec.ipv6_inside)

    def _launch_proxy(self, server: Node) -> None:
        """It prints a line for each packet, which would fill the disk."""
        silent = ["sh", "-c", 'exec "$0" > /dev/null', self.program(server, _PROXY)]
        await_listening(self, server, self.start_process(server, silent, _PROXY), TCP_PORT)

    def start(self, member: Node) -> None:
        """Start it as a member; returns when the controller has admitted it."""
        self._homes[member.name].enter(self._network, self.device)
        self._await_membership(member, self._launch(member))

    def _await_membership(self, member: Node, process: Process) -> None:
        home, address = self._homes[member.name], self.inner(member)

        def joined() -> bool:
            link = member.link(self.device)
            up = link is not None and link.up and address in link.addresses
            return up and home.has_joined(self._network, address)

        what = f"the controller admitted node {member.name}"
        evidence = partial(home.network_status, self._network)
        self.await_fact(joined, process, what, evidence=evidence)

    def stop(self, lab: Lab) -> None:
        super().stop(lab)
        for relay in lab.of_role(Role.RELAY) if self._over_tcp else ():
            address, device = f"{_PUBLIC_ROOT}/32", relay.underlay.device
            relay.run(["ip", "address", "delete", address, "dev", device], check=False)

    def drop(self, path: Path) -> None:
        """The source leaves the network; its process remains."""
        self._homes[path.source].cli("leave", self._network)

    def resume(self, path: Path) -> None:
        source = self.lab.nodes[path.source]
        self._homes[path.source].cli("join", self._network)
        self._await_membership(source, self.processes[source.name][0])
        self.await_path(path)

    def apply_policy(self, policy: Policy) -> None:
        addresses = {each.name: self.inner(each).ip for each in self.lab.members}
        set_rules(self._homes[self.control.name], policy, addresses)

    @property
    def _network(self) -> str:
        return self._homes[self.control.name].identity.network

    def _launch(self, node: Node) -> Process:
        # -U: it does not become another user, to whom its directory would be given.
        return self.launch(node, ONE, "-U", self._homes[node.name].path)

    def route_to(self, node: Node, peer: Node) -> Route:
        """By the path that the node prefers; without one it is the root's."""
        home = self._homes[node.name]
        state = home.state()
        if not (state.tunneled if self._over_tcp else state.online):
            where = f"{self.id} on node {node.name}"
            raise VpnError(where, "it is not connected to the root", SEE_LOG)
        found = home.endpoint(self._homes[peer.name].identity)
        servers = (None, underlay_address(self.relay), _PUBLIC_ROOT)
        return Route(self.relay.name) if found in servers else DIRECT

    @property
    def outer_flow(self) -> OuterFlow | None:
        """UDP with ZeroTier's port, or TCP with the relay's."""
        return OuterFlow(_TCP, frozenset({TCP_PORT})) if self._over_tcp else super().outer_flow

    def outer_length(self, inner_length: int) -> int | None:
        """A constant more; unknown in the TCP connection."""
        return None if self._over_tcp else wire.outer_length(inner_length)

    def is_handshake(self, packet: OuterPacket) -> bool:
        if self._over_tcp:
            return wire.is_handshake(*wire.in_record(packet.payload))
        return wire.is_handshake(packet.payload, wire.in_udp(packet.length))
