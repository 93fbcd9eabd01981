"""Tailscale's clients with a Headscale control server: paths direct, or through a DERP relay.

::

    a ─ tailscaled ─┐          UDP, WireGuard's packets: direct
    b ─ tailscaled ─┼─ core ─┬ headscale        TCP: keys, addresses, policy
                             └ derper           TCP, WireGuard's packets in TLS: relayed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Interface
from typing import ClassVar

from culvert.labs.base import Lab
from culvert.labs.capability import Capability
from culvert.labs.host import Host
from culvert.labs.node import Node
from culvert.topology.graph import Path, Role
from culvert.vpns.headscale import control, members, programs
from culvert.vpns.headscale import packet as outer
from culvert.vpns.headscale.control import Control
from culvert.vpns.headscale.members import Member
from culvert.vpns.headscale.relay import Relay
from culvert.vpns.headscale.variants import OPTIONS, PLAIN, RELAYED, VARIANTS, Ports
from culvert.vpns.outer import OuterFlow, OuterPacket
from culvert.vpns.policy import Policy
from culvert.vpns.tundevice import TunDevice
from culvert.vpns.variant import DIRECT, Missing, Route, RouteCount, Variant
from culvert.vpns.wireguard import packet as wireguard


class Headscale(TunDevice):
    """Members register with a key; their addresses are those that Headscale gives them."""

    name = "headscale"
    summary = "Tailscale with a Headscale control server and a DERP relay"
    variants: ClassVar[tuple[Variant, ...]] = VARIANTS
    options: ClassVar[Mapping[str, str]] = OPTIONS
    role = "headscale"
    capabilities: ClassVar[frozenset[Capability]] = members.CAPABILITIES
    server_capabilities: ClassVar[frozenset[Capability] | None] = frozenset()
    tables = frozenset({"52"})
    device, fixed_range = members.DEVICE, control.ADDRESSES
    port = Ports.member
    up_deadline_s = 20.0
    rekey_deadline_s = 130.0
    """A sender renews WireGuard's keys after 120 s."""
    joins_together = True
    key_lifetime = "24h"

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        self._relayed = variant.name == RELAYED
        self._members: dict[str, Member] = {}
        self.ports = Ports.usual(plain=PLAIN in self.chosen)

    def missing(self, host: Host) -> list[Missing]:
        """Its four programs, and /dev/net/tun."""
        return list(programs.missing(self.id, host))

    def version(self, host: Host) -> str:
        """Of Tailscale's programs and of Headscale."""
        return programs.version(host)

    def choose(self, lab: Lab) -> None:
        """The device, and all ports; the addresses and the routing table are fixed."""
        self.device, self.ports = lab.free_device(members.DEVICE), self.ports.free(lab)
        self.port = self.ports.member

    def configure(self) -> None:
        """The relay's certificate, and the control server's configuration with its hash."""
        (relaying,) = self.lab.of_role(Role.RELAY)
        (controlling,) = self.lab.of_role(Role.CONTROL)
        self._relay = Relay.new(relaying, tls=PLAIN not in self.chosen, ports=self.ports)
        self._relay.write()
        networks = control.networks(self.lab.members)
        self._control = Control(controlling, self.key_lifetime, networks, self.ports)
        self._control.write(self._relay.map(measured=not self._relayed))
        own, nodes = self.processes, self.lab.members
        self._members = members.of_nodes(self.id, nodes, own, device=self.device, port=self.port)

    def serve(self, server: Node) -> None:
        """Start derper; or headscale, which makes the members' key."""
        serving = self._relay if server.role is Role.RELAY else self._control
        running = self.processes[server.name]
        programs.start(self.id, server, serving, running, self.up_deadline_s)
        if serving is self._control:
            key = self._control.new_key()
            for member in self._members.values():
                member.write_key(key)

    def join(self, member: Node) -> None:
        """Start tailscaled, and register if it is the first time; ready when it is connected to
        both servers. Nothing to do if it runs."""
        here = self._members[member.name]
        if not here.running:
            here.deadline_s = self.up_deadline_s
            here.join(self._control.url, relayed=self._relayed, plain=PLAIN in self.chosen)

    def bring_up(self, *, but: Path | None = None) -> None:
        """A source that a measurement starts is registered first, and ended again."""
        super().bring_up(but=but)
        if but is not None:
            self.join(self.lab.nodes[but.source])
            self.leave(self.lab.nodes[but.source])

    def reach(self, path: Path) -> None:
        """Wait until both ends know each other, have found a direct path unless this variant is
        relayed, and a ping is answered. Starts an end that does not run."""
        for node in self.lab.ends(path):
            self.join(node)
        source, target = self._ends(path)
        source.meet(target, direct=not self._relayed)

    def stop(self, lab: Lab) -> None:
        """At the same time: each tailscaled takes leave of its servers."""
        self._stop_at_once(lab)

    def drop(self, path: Path) -> None:
        """``tailscale down`` at both ends."""
        for node in self.lab.ends(path):
            self._members[node.name].api.want(running=False)

    def resume(self, path: Path) -> None:
        """``tailscale up`` at both ends."""
        for node in self.lab.ends(path):
            self._members[node.name].api.want(running=True)
        self.reach(path)

    def rekey(self, path: Path) -> None:
        """Wait until WireGuard renews its keys: 120 s after the last handshake, when the source
        sends."""
        source, target = self._ends(path)
        source.wait_for_rekey(target, deadline_s=self.rekey_deadline_s)

    def apply_policy(self, policy: Policy) -> None:
        """Replace Headscale's policy and send it SIGHUP, on which it reads and distributes it."""
        addresses = {name: member.address for name, member in self._members.items()}
        self._control.write_policy(policy, addresses)
        self._control.reload(self.processes[self._control.node.name][0])

    # -- what the proof needs ----------------------------------------------------------------------

    def inner(self, node: Node) -> IPv4Interface:
        """The address that Headscale has given the member, once it has joined."""
        return IPv4Interface((self._members[node.name].address, control.ADDRESSES.prefixlen))

    def route(self, path: Path) -> Route:
        del path
        return self._through_relay if self._relayed else DIRECT

    def determine_route(self, path: Path) -> Route:
        """By the address to which the source sends: none if the path is not direct."""
        source, target = self.lab.ends(path)
        return self.routes(source, (target,)).get(target.name, self._through_relay)

    def routes(self, source: Node, targets: Sequence[Node]) -> Mapping[str, Route]:
        """By one request to the source."""
        peers = self._members[source.name].api.peers()
        known = {node.name: peers.get(self._members[node.name].address) for node in targets}
        found = {name: peer for name, peer in known.items() if peer is not None}
        relayed = self._through_relay
        return {name: DIRECT if found[name].current_address else relayed for name in found}

    def sent(self, node: Node) -> RouteCount:
        """As tailscaled counts WireGuard's packets."""
        return self._members[node.name].api.sent()

    @property
    def outer_flow(self) -> OuterFlow | None:
        """Between members and to the servers; between members nothing if relayed."""
        ports = self.ports
        return outer.relayed(ports) if self._relayed else outer.direct(ports, members.MTU)

    def outer_length(self, inner_length: int) -> int | None:
        """WireGuard's, unless it goes in a stream of DERP."""
        return None if self._relayed else wireguard.outer_length(inner_length, members.MTU)

    def is_handshake(self, packet: OuterPacket) -> bool:
        """WireGuard's, discovery, registration, and the beginning of DERP."""
        return outer.is_handshake(packet, self.ports)

    def _ends(self, path: Path) -> tuple[Member, Member]:
        return self._members[path.source], self._members[path.target]

    @property
    def _through_relay(self) -> Route:
        return Route(self._relay.node.name)

    def _stop_processes(self, node: Node, *, grace_s: float = 2.0) -> None:
        ran = bool(self.processes[node.name])
        most_s = members.RELAYED_GRACE_S if self._relayed else grace_s
        super()._stop_processes(node, grace_s=min(grace_s, most_s))
        if ran and node.name in self._members:
            members.sweep(node)
