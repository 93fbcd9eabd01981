"""Devices, addresses and routes of a topology's nodes. Pure.

A network has a subnet of 198.18.0.0/16 (RFC 2544's benchmarking range; the other half of it is for
tunnels), or a private one where it is the inside of a mesh's NAT. A node that is
not a router has a default route to its router.

Where nodes reach each other by IPv6, a network has a subnet of 2001:2::/48 (RFC 5180's benchmarking
range) too, and all routes are IPv6: a node's IPv4 address then reaches the link's other end only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Interface, IPv4Network, IPv6Interface, IPv6Network

from culvert.errors import UsageError
from culvert.topology.graph import Network, Role, Topology
from culvert.topology.ip import Address, Interface, IpVersion, Subnet
from culvert.topology.nat import NatSide
from culvert.topology.shapes import CORE, Shape

PUBLIC = IPv4Network("198.18.0.0/16")
TUNNELS = IPv4Network("198.19.0.0/16")
"""The other half of the range: addresses inside tunnels."""
TUNNELS_IPV6 = IPv6Network("2001:2:0:ffff::/64")
"""The last subnet of its range: no topology has so many networks."""
PRIVATE = IPv4Network("10.18.0.0/16")
"""Behind a member's own NAT, and between the two of a CGNAT."""
PUBLIC_IPV6 = IPv6Network("2001:2::/48")
EVERYWHERE = IPv4Network("0.0.0.0/0")
EVERYWHERE_IPV6 = IPv6Network("::/0")
_WIDE, _NARROW = 24, 28
"""Prefix lengths: of up to 256 networks, of up to 4,096."""
_PREFIX_IPV6 = 64


@dataclass(frozen=True)
class Attachment:
    """A node's attachment to the underlay: the device and its address. ``ipv6`` is the one by which
    others reach it, if they use IPv6."""

    device: str
    address: IPv4Interface
    ipv6: IPv6Interface | None = None

    @property
    def reached_at(self) -> Interface:
        """The address by which other nodes reach it."""
        return self.ipv6 or self.address


@dataclass(frozen=True)
class Plug:
    """A cable's end: the node, and its attachment."""

    node: str
    attachment: Attachment


@dataclass(frozen=True)
class StaticRoute:
    """A route that a node needs to reach the others."""

    node: str
    destination: Subnet
    gateway: Address


@dataclass(frozen=True)
class Cable:
    """A network with both its ends."""

    network: Network
    left: Plug
    right: Plug

    def end(self, node: str) -> Plug:
        return self.left if self.left.node == node else self.right


@dataclass(frozen=True)
class UnderlayPlan:
    """The lab to build: cables in the order of the topology's networks, and routes."""

    topology: Topology
    cables: tuple[Cable, ...]
    routes: tuple[StaticRoute, ...] = ()

    def attachments(self, node: str) -> tuple[Attachment, ...]:
        """The node's ends of cables; the first one is its underlay."""
        return tuple(
            cable.end(node).attachment for cable in self.cables if node in cable.network.ends
        )

    def side(self, router: str) -> NatSide:
        """The translation of a router with a NAT: for which node, and to which address."""
        within = self.topology.node(router).inside
        cables = [cable for cable in self.cables if router in cable.network.ends]
        (inside,) = (cable for cable in cables if within in cable.network.ends)
        (outside,) = (cable for cable in cables if cable is not inside)
        near, far = inside.end(router).attachment, outside.end(router).attachment
        private = inside.end(within).attachment.address.ip
        return NatSide(near.device, far.device, private, far.address.ip)

    @property
    def behind(self) -> tuple[IPv4Network, ...]:
        """The networks behind a gateway, which its VPN routes to the clients."""
        names = {node.name for node in self.topology.of_role(Role.BEHIND)}
        return tuple(
            cable.left.attachment.address.network
            for cable in self.cables
            if cable.left.node in names
        )


@cache
def plan(topology: Topology, version: IpVersion = IpVersion.V4) -> UnderlayPlan:
    """The plan of a topology; equal topologies have the same."""
    devices: dict[str, int] = {}
    subnets_ipv6 = PUBLIC_IPV6.subnets(new_prefix=_PREFIX_IPV6)
    prefix = _WIDE if len(topology.networks) <= 256 else _NARROW
    public, private = PUBLIC.subnets(new_prefix=prefix), PRIVATE.subnets(new_prefix=prefix)
    cables = []
    for network in topology.networks:
        subnet = next(private if _hidden(topology, network) else public, None)
        if subnet is None:
            raise UsageError(
                f"topology {topology.name}", "has more networks than addresses", "use fewer nodes"
            )
        near, far = subnet[1], subnet[2]
        if _is_router(topology, network.right):
            far = subnet[-2]
        if _is_router(topology, network.left):
            near, far = subnet[-2], subnet[2]
        plugs = []
        ends_ipv6 = _ends(next(subnets_ipv6)) if version is IpVersion.V6 else (None, None)
        for node, address, ipv6 in zip(network.ends, (near, far), ends_ipv6, strict=True):
            number = devices.get(node, 0)
            devices[node] = number + 1
            interface = IPv4Interface(f"{address}/{subnet.prefixlen}")
            plugs.append(Plug(node, Attachment(f"u{number}", interface, ipv6)))
        cables.append(Cable(network, *plugs))
    made = UnderlayPlan(topology, tuple(cables))
    return UnderlayPlan(topology, made.cables, tuple(_routes(made)))


def mac_of(address: IPv4Interface) -> str:
    """A locally administered MAC address that shows the IPv4 address it belongs to."""
    return ":".join(f"{octet:02x}" for octet in (0x02, 0x00, *address.ip.packed))


def _ends(subnet: IPv6Network) -> tuple[IPv6Interface, IPv6Interface]:
    near, far = (IPv6Interface((subnet[number], subnet.prefixlen)) for number in (1, 2))
    return near, far


def _is_router(topology: Topology, name: str) -> bool:
    return topology.node(name).role is Role.ROUTER


def _hidden(topology: Topology, network: Network) -> bool:
    """Inside a NAT of a mesh."""
    translator = topology.node(network.right)
    return topology.name == Shape.MESH and translator.nat is not None


def _routes(made: UnderlayPlan) -> list[StaticRoute]:
    if made.topology.name == Shape.ROUTED:
        near, far = made.cables
        return [
            StaticRoute(near.left.node, _subnet(far.left), _ip(near.right)),
            StaticRoute(far.right.node, _subnet(near.left), _ip(far.left)),
        ]
    routes = []
    for node in made.topology.nodes:
        upstream = _upstream(made, node.name)
        if upstream is None:
            continue
        gateway = _ip(upstream.end(upstream.network.right))
        everywhere = EVERYWHERE if IpVersion(gateway.version) is IpVersion.V4 else EVERYWHERE_IPV6
        routes.append(StaticRoute(node.name, everywhere, gateway))
        if node.role is Role.ROUTER and node.nat is None:
            routes += _into(made, node.name, upstream)
        if node.role is Role.GATEWAY:  # without a VPN, and beside one, they are reached so too
            own = _ip(upstream.end(node.name))
            routes += [StaticRoute(CORE, network, own) for network in made.behind]
    return routes


def _upstream(made: UnderlayPlan, node: str) -> Cable | None:
    """The cable from a node towards the core router, which is always its right end."""
    if node == CORE or made.topology.name == Shape.PAIR:
        return None
    return [cable for cable in made.cables if cable.network.left == node][-1]


def _into(made: UnderlayPlan, router: str, upstream: Cable) -> list[StaticRoute]:
    """The nodes behind a router that does not translate, up to the next one that does."""
    inside = next(cable for cable in made.cables if cable.network.right == router)
    routes, via = [], upstream
    while True:
        beyond = via.network.right
        routes.append(StaticRoute(beyond, _subnet(inside.left), _ip(via.left)))
        further = _upstream(made, beyond)
        if further is None or made.topology.node(beyond).nat is not None:
            return routes
        via = further


def _ip(plug: Plug) -> Address:
    return plug.attachment.reached_at.ip


def _subnet(plug: Plug) -> Subnet:
    return plug.attachment.reached_at.network
