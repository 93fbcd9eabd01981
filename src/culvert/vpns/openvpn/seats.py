"""The server processes of one gateway: each has a device, a port and a part of the clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

from culvert.vpns.authoring import Lab, Node, NotPossible, TunnelVpn
from culvert.vpns.openvpn.choice import PORT
from culvert.vpns.openvpn.settings import PROCESSES


@dataclass(frozen=True)
class Seat:
    """The device and the port of a server process."""

    device: str
    port: int


def chosen(vpn: TunnelVpn, lab: Lab, first: Seat, processes: int) -> list[Seat]:
    """Of as many processes as there are clients at most; the first has the clients' device too."""
    count = min(processes, len(vpn.sources))
    if count > 1 and lab.spec.members_have_ipv6:
        raise NotPossible(
            vpn.id,
            "several server processes have IPv4 inside only",
            f"leave +{PROCESSES}-N out in this condition",
        )
    further = (
        Seat(lab.free_device(f"tun{number}"), lab.free_port(PORT + number))
        for number in range(1, count)
    )
    return [first, *further]


def dealt_to(vpn: TunnelVpn, seats: Sequence[Seat], number: int) -> Sequence[Node]:
    """The clients of the process of that number."""
    return vpn.sources[number :: len(seats)]


def number_of(vpn: TunnelVpn, seats: Sequence[Seat], client: Node) -> int:
    """The number of a client's process."""
    return vpn.sources.index(client) % len(seats)


def lead(vpn: TunnelVpn, seats: Sequence[Seat], number: int) -> None:
    """The gateway has its address on each one's device: routes tell which leads to a client."""
    if len(seats) > 1:
        for client in dealt_to(vpn, seats, number):
            network = IPv4Network(vpn.inner(client).ip)
            vpn.target.add_route(network, device=seats[number].device)
