"""What others may have taken on a node: ports, and ranges of addresses."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from ipaddress import IPv4Interface, IPv4Network
from typing import Self

from culvert.errors import NotPossible
from culvert.labs import iproute
from culvert.labs.base import Lab
from culvert.labs.node import Node


@dataclass(frozen=True)
class Ports:
    """A driver derives its own: a field for each port, with the usual number as its default."""

    def free(self, lab: Lab) -> Self:
        """These, or others that are free in the lab."""
        return replace(self, **{name: lab.free_port(port) for name, port in asdict(self).items()})


def refuse_taken(vpn: str, node: Node, network: IPv4Network) -> None:
    """Raise NotPossible if an interface of a node has an address in a range that a VPN is about to
    use there."""
    ip = node.require("ip", "install iproute2")
    shown = node.run([ip, "-j", "-4", "address", "show"]).stdout
    for link in iproute.entries(shown, node.name):
        for each in link.get("addr_info", ()):
            address = IPv4Interface(f"{each['local']}/{each['prefixlen']}")
            if address.ip in network or address.network.overlaps(network):
                raise NotPossible(
                    f"{vpn} on node {node.name}",
                    f"its addresses are of {network}, and {link['ifname']} there has {address}",
                    f"stop what uses {link['ifname']}, or give it other addresses",
                )
