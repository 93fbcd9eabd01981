"""Address ranges of VPNs on one node: two VPNs cannot use the same addresses."""

from __future__ import annotations

from ipaddress import IPv4Interface, IPv4Network

from culvert.errors import NotPossible
from culvert.labs import iproute
from culvert.labs.node import Node


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
