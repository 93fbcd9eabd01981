"""Where inner addresses are, and what prevents their packets from leaving in clear text.

::

    policies        the loopback holds the address; policies select packets to the underlay
    xfrm interface  holds the address, and the route to the peer
    transport mode  the underlay's device holds a second address: the first remains bare
"""

from __future__ import annotations

import re
from ipaddress import IPv4Interface

from culvert.topology.shapes import Shape
from culvert.vpns.authoring import (
    Completed,
    DataPath,
    Lab,
    LabError,
    Node,
    NotPossible,
    VpnError,
    largest_inner,
)
from culvert.vpns.ipsec.transforms import Carriage

DEVICE = "xfrm0"
INTERFACE_ID = 42
"""Connects policies and associations with the xfrm interface."""
_LAST = 2**31
"""Priority of the policy that drops: after all others."""


def require_pair(vpn: str, lab: Lab) -> None:
    """Raise NotPossible unless on a pair: routers have no route to transport mode's addresses."""
    if lab.spec.topology.name != Shape.PAIR:
        raise NotPossible(
            vpn,
            "transport mode does not cross routers here",
            'use topology = "pair", or tunnel mode',
        )


def interface(carriage: Carriage, node: Node) -> str:
    """The device that inner packets pass through."""
    return DEVICE if carriage.route else node.underlay.device


def hold(vpn: str, carriage: Carriage, node: Node, inner: IPv4Interface) -> None:
    """Give the node its inner address; no error if it has it already."""
    if carriage.route:
        _make_device(vpn, carriage, node, inner)
        return
    # Wider than any policy for the tunnel, so that neither replaces the other.
    block = ("action", "block", "priority", str(_LAST))
    ip(node, "xfrm", "policy", "update", *_selector(inner), *block)
    device, address = _holder(carriage, node, inner)
    state = node.link(device)
    if state is None or address not in state.addresses:
        node.add_address(device, address)


def release(carriage: Carriage, node: Node, inner: IPv4Interface) -> None:
    """Remove the inner address; no error if there is none."""
    if carriage.route:
        node.del_link(DEVICE)
        return
    ip(node, "xfrm", "policy", "delete", *_selector(inner), check=False)
    device, address = _holder(carriage, node, inner)
    ip(node, "address", "delete", str(address), "dev", device, check=False)


def holds_associations(node: Node) -> bool:
    """Whether its kernel has any; one without XFRM prints no count."""
    counted = ip(node, "xfrm", "state", "count", check=False)
    held = re.search(r"SAD count (\d+)", counted.stdout)
    return held is not None and int(held[1]) > 0


def data_path(vpn: str, node: Node, device: str) -> DataPath:
    """KERNEL if the node's kernel holds associations; USER if it holds none and ``device`` is a tun
    device. Raises VpnError otherwise."""
    if holds_associations(node):
        return DataPath.KERNEL
    link = node.link(device)
    if link is not None and link.kind == "tun":
        return DataPath.USER
    raise VpnError(
        f"{vpn} on node {node.name}",
        f"the kernel holds no security association and {device} is "
        f"{link.kind if link else 'missing'}, not tun",
        "bring the tunnel up again",
    )


def forget(node: Node) -> None:
    """Remove all associations and policies."""
    ip(node, "xfrm", "state", "flush", check=False)
    ip(node, "xfrm", "policy", "flush", check=False)


def _holder(carriage: Carriage, node: Node, inner: IPv4Interface) -> tuple[str, IPv4Interface]:
    if carriage.transport:
        return node.underlay.device, inner
    # /32, so that only the tunnel's route leads to the peer.
    return "lo", IPv4Interface(f"{inner.ip}/32")


def _make_device(vpn: str, carriage: Carriage, node: Node, inner: IPv4Interface) -> None:
    if node.link(DEVICE) is not None:
        return
    underlay = node.link(node.underlay.device)
    words = ("dev", node.underlay.device, "if_id", str(INTERFACE_ID))
    try:
        ip(node, "link", "add", DEVICE, "type", "xfrm", *words)
    except LabError as error:
        raise VpnError(vpn, error.why, error.remedy) from error
    node.add_address(DEVICE, inner)
    mtu = largest_inner(carriage.outer_length, underlay.mtu if underlay else 1500)
    node.set_link(DEVICE, up=True, mtu=mtu)


def _selector(inner: IPv4Interface) -> tuple[str, ...]:
    network = str(inner.network)
    return ("src", network, "dst", network, "dir", "out")


def ip(node: Node, *words: str, check: bool = True) -> Completed:
    """Run it on a node."""
    return node.run([node.require("ip", "apt-get install iproute2"), *words], check=check)
