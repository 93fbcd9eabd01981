"""Names and addresses of nodes and cables for each topology. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

from culvert.topology.nat import Side
from culvert.topology.spec import Attachment, Topology


@dataclass(frozen=True)
class Plug:
    """A cable's end: the node it is on, and how."""

    node: str
    attachment: Attachment


@dataclass(frozen=True)
class Route:
    """A route that a node needs to reach the others."""

    node: str
    destination: IPv4Network
    gateway: IPv4Address


@dataclass(frozen=True)
class Plan:
    """What to build: nodes in order, cables between them, routes."""

    nodes: tuple[str, ...]
    cables: tuple[tuple[Plug, Plug], ...]
    routes: tuple[Route, ...] = ()

    def attachments(self, node: str) -> tuple[Attachment, ...]:
        """The node's ends of cables; the first one is its underlay."""
        return tuple(
            plug.attachment for cable in self.cables for plug in cable if plug.node == node
        )


def plan(topology: Topology) -> Plan:
    """The plan of a topology; drawn in ``culvert.labs.base``."""
    match topology:
        case "pair":
            cable = (_plug("a", "u0", "198.18.0.1/24"), _plug("b", "u0", "198.18.0.2/24"))
            return Plan(nodes=("a", "b"), cables=(cable,))
        case "routed":
            near, far = IPv4Interface("198.18.0.1/24"), IPv4Interface("198.18.1.2/24")
            return Plan(
                nodes=("a", "router", "b"),
                cables=(
                    (_plug("a", "u0", str(near)), _plug("router", "u0", "198.18.0.254/24")),
                    (_plug("router", "u1", "198.18.1.254/24"), _plug("b", "u0", str(far))),
                ),
                routes=(
                    Route("a", far.network, IPv4Address("198.18.0.254")),
                    Route("b", near.network, IPv4Address("198.18.1.254")),
                ),
            )


def side(routed: Plan, node: str) -> Side:
    """What a NAT for ``node`` translates on the router: the cable's ends there tell."""
    inside, outside = routed.attachments("router")
    (own,) = routed.attachments(node)
    if own.address.network != inside.address.network:
        inside, outside = outside, inside
    return Side(inside.device, outside.device, own.address.ip, outside.address.ip)


def mac_of(address: IPv4Interface) -> str:
    """A locally administered MAC address that shows the IPv4 address it belongs to."""
    return ":".join(f"{octet:02x}" for octet in (0x02, 0x00, *address.ip.packed))


def _plug(node: str, device: str, address: str) -> Plug:
    return Plug(node, Attachment(device, IPv4Interface(address)))
