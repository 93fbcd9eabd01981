"""Where inner addresses are, and what prevents their packets from leaving in clear text.

::

    policies        the loopback holds the address; policies select packets to the underlay
    xfrm interface  holds the address, and the route to the peer
    transport mode  the underlay's device holds a second address: the first remains bare
"""

from __future__ import annotations

from ipaddress import IPv4Interface

from culvert.errors import LabError, NotPossible, VpnError
from culvert.labs.base import Lab
from culvert.labs.node import Node
from culvert.topology.shapes import Shape
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
    _ip(
        node,
        "xfrm",
        "policy",
        "update",
        *_selector(inner),
        "action",
        "block",
        "priority",
        str(_LAST),
    )
    device, address = _holder(carriage, node, inner)
    state = node.link(device)
    if state is None or address not in state.addresses:
        node.add_address(device, address)


def release(carriage: Carriage, node: Node, inner: IPv4Interface) -> None:
    """Remove the inner address; no error if there is none."""
    if carriage.route:
        node.del_link(DEVICE)
        return
    _ip(node, "xfrm", "policy", "delete", *_selector(inner), check=False)
    device, address = _holder(carriage, node, inner)
    _ip(node, "address", "delete", str(address), "dev", device, check=False)


def forget(node: Node) -> None:
    """Remove all associations and policies."""
    _ip(node, "xfrm", "state", "flush", check=False)
    _ip(node, "xfrm", "policy", "flush", check=False)


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
        _ip(node, "link", "add", DEVICE, "type", "xfrm", *words)
    except LabError as error:
        raise VpnError(vpn, error.why, error.remedy) from error
    node.add_address(DEVICE, inner)
    node.set_link(DEVICE, up=True, mtu=carriage.largest_inner(underlay.mtu if underlay else 1500))


def _selector(inner: IPv4Interface) -> tuple[str, ...]:
    network = str(inner.network)
    return ("src", network, "dst", network, "dir", "out")


def _ip(node: Node, *words: str, check: bool = True) -> None:
    node.run([node.require("ip", "apt-get install iproute2"), *words], check=check)
