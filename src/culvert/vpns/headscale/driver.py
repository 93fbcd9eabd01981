"""Tailscale's clients with a Headscale control server: paths direct, or through a DERP relay.

::

    a ─ tailscaled ─┐          UDP, WireGuard's packets: direct
    b ─ tailscaled ─┼─ core ─┬ headscale        TCP: keys, addresses, policy
                             └ derper           TCP, WireGuard's packets in TLS: relayed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Interface

from culvert.vpns.authoring import (
    DIRECT,
    AssigningMeshVpn,
    Host,
    Lab,
    Node,
    OuterFlow,
    OuterPacket,
    Path,
    Policy,
    Process,
    Role,
    Route,
    RouteCount,
    Variant,
    hang_up,
)
from culvert.vpns.headscale import control, members
from culvert.vpns.headscale import packet as outer
from culvert.vpns.headscale.control import HEADSCALE, Control
from culvert.vpns.headscale.members import Member
from culvert.vpns.headscale.relay import DERPER, Relay
from culvert.vpns.headscale.variants import MTU, OPTIONS, PLAIN, VARIANTS, Ports
from culvert.vpns.parts import kill_switch
from culvert.vpns.wireguard.packet import WIREGUARD


class Headscale(AssigningMeshVpn):
    """Members register with a key; their addresses are those that Headscale gives them."""

    name = "headscale"
    summary = "Tailscale with a Headscale control server and a DERP relay"
    variants = VARIANTS
    options = OPTIONS
    ipv6_inside = routes_behind = True
    role = "headscale"
    programs = (members.DAEMON, members.CLIENT, HEADSCALE, DERPER)
    tables = frozenset({"52"})
    kill_switch = (
        "Culvert's, a rule of nftables: the exit node's routes end with tailscaled, so what is "
        "neither marked by tailscaled nor by the device is rejected"
    )
    device, fixed_range = members.DEVICE, control.ADDRESSES
    port = Ports.member
    watchers = 1
    up_deadline_s = 20.0
    rekey_deadline_s = 130.0
    """A sender renews WireGuard's keys after 120 s."""
    key_lifetime = "24h"

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        self._members: dict[str, Member] = {}
        self.ports = Ports.usual(plain=PLAIN in self.chosen)
        if not self.claims_direct:
            self.grace_s = members.RELAYED_GRACE_S

    def version(self, host: Host) -> str:
        tailscale = host.run([self.program(host, members.DAEMON), "--version"]).stdout.split()
        headscale = host.run([self.program(host, HEADSCALE), "version"]).stdout.split()
        return f"Tailscale {tailscale[0]}, Headscale {headscale[2]}"

    def choose(self, lab: Lab) -> None:
        """The device, and all ports; the addresses and the routing table are fixed."""
        self.device, self.ports = lab.free_device(members.DEVICE), self.ports.free(lab)
        self.port = self.ports.member

    def configure(self) -> None:
        """The relay's certificate, and the control server's configuration with its hash."""
        self._relay = Relay.new(self.relay, tls=PLAIN not in self.chosen, ports=self.ports)
        self._relay.write()
        networks = control.networks(self.lab.members)
        self._control = Control(
            self.control, self.key_lifetime, networks, self.ports, self.lab.behind
        )
        self._control.write(self._relay.map(measured=self.claims_direct))
        self._members = {each.name: Member(self, each) for each in self.lab.members}
        kill_switch.load(self, self.lab.of_role(Role.CLIENT), self.device, [members.OWN])

    def serve(self, server: Node) -> None:
        """Start derper; or headscale, which makes the members' key."""
        serving = self._relay if server.role is Role.RELAY else self._control
        process = self.launch(server, serving.program, *serving.arguments)
        what = f"{serving.program} on node {server.name} listened"
        self.await_fact(lambda: serving.ready(process), process, what)
        if serving is self._control:
            key = self._control.new_key()
            for member in self._members.values():
                member.write_key(key)

    def start(self, member: Node) -> None:
        """Start tailscaled, and register if it is the first time; ready when it is connected to
        both servers. Nothing to do if it runs."""
        here = self._members[member.name]
        if not here.running:
            address = here.join(self._control.url)
            prefix = control.ADDRESSES.prefixlen
            self.addresses[member.name] = IPv4Interface((address, prefix))

    def register(self, member: Node) -> None:
        """Join, which registers it, and end it again."""
        self.join(member)
        self.leave(member)

    def reach(self, path: Path) -> None:
        """Wait until both ends know each other, have found a direct path unless this variant is
        relayed, and a ping is answered. Starts an end that does not run."""
        for node in self.lab.ends(path):
            self.join(node)
        source, target = self._ends(path)
        source.meet(target)
        if self.lab.spec.topology.full_tunnel:
            source.use_exit(target)
        for client in self.lab.of_role(Role.CLIENT) if self.lab.behind else ():
            self._members[client.name].await_routes(self.lab.behind)

    def stop(self, lab: Lab) -> None:
        super().stop(lab)
        kill_switch.remove(self, lab)

    def drop(self, path: Path) -> None:
        for node in self.lab.ends(path):
            self._members[node.name].api.want(running=False)

    def resume(self, path: Path) -> None:
        for node in self.lab.ends(path):
            self._members[node.name].api.want(running=True)
        self.reach(path)

    def rekey(self, path: Path) -> None:
        """Wait until WireGuard renews its keys: 120 s after the last handshake, when the source
        sends."""
        source, target = self._ends(path)
        self.await_new_keys(source.node, lambda: source.api.last_handshake(target.address))

    def apply_policy(self, policy: Policy) -> None:
        """Replace Headscale's policy and send it SIGHUP, on which it reads and distributes it."""
        addresses = {name: each.ip for name, each in self.addresses.items()}
        self._control.write_policy(policy, addresses)
        hang_up(self.control, self.processes[self.control.name][0])

    # -- what the proof needs ----------------------------------------------------------------------

    def determine_route(self, path: Path) -> Route:
        return self.route_to(*self.lab.ends(path))

    def route_to(self, node: Node, peer: Node) -> Route:
        """By the address to which it sends: none if the path is not direct."""
        return self.routes(node, (peer,)).get(peer.name, Route(self.relay.name))

    def routes(self, source: Node, targets: Sequence[Node]) -> Mapping[str, Route]:
        peers = self._members[source.name].api.peers()
        known = {node.name: peers.get(self._members[node.name].address) for node in targets}
        found = {name: peer for name, peer in known.items() if peer is not None}
        relayed = Route(self.relay.name)
        return {name: DIRECT if found[name].current_address else relayed for name in found}

    def sent(self, node: Node) -> RouteCount:
        """As tailscaled counts WireGuard's packets."""
        return self._members[node.name].api.sent()

    @property
    def outer_flow(self) -> OuterFlow | None:
        """Between members and to the servers; between members nothing if relayed."""
        if self.claims_direct:
            return outer.direct(self.ports, MTU)
        return outer.relayed(self.ports)

    def outer_length(self, inner_length: int) -> int | None:
        """WireGuard's, unless it goes in a stream of DERP."""
        return WIREGUARD.outer_length(inner_length, MTU) if self.claims_direct else None

    def is_handshake(self, packet: OuterPacket) -> bool:
        """WireGuard's, discovery, registration, and the beginning of DERP."""
        return outer.is_handshake(packet, self.ports)

    def _ends(self, path: Path) -> tuple[Member, Member]:
        return self._members[path.source], self._members[path.target]

    def sweep(self, node: Node, ended: Sequence[Process]) -> None:
        if ended and node in self.lab.members:
            members.sweep(node)
