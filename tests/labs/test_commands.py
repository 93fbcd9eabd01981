"""Interfaces by iproute2, which every node has, and by netlink, which namespaces have: the same."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any

import pytest

from culvert.errors import LabError, NotPossible
from culvert.labs.endpoint import LinkState
from culvert.labs.netns.node import NetnsNode
from culvert.labs.node import Node
from tests.conftest import LabFactory

pytestmark = pytest.mark.lab
ADDRESS = IPv4Interface("198.19.0.1/24")
VXLAN: dict[str, Any] = {
    "vxlan_id": 42,
    "vxlan_port": 4789,
    "vxlan_local": "198.18.0.1",
    "vxlan_group": "198.18.0.2",
    "vxlan_learning": False,
    "address": "02:00:00:00:00:07",
}
WAYS = (Node, NetnsNode)
"""By commands, and by netlink."""
KINDS: dict[str, dict[str, Any]] = {"veth": {"peer": "t1"}, "vxlan": VXLAN, "dummy": {}}


@pytest.fixture
def node(lab: LabFactory) -> NetnsNode:
    return lab().a


def both(node: NetnsNode, device: str) -> LinkState | None:
    """What the two ways say of an interface, which must be the same."""
    by_commands, by_netlink = (way.link(node, device) for way in WAYS)
    assert by_commands == by_netlink
    return by_commands


def details(node: NetnsNode, device: str) -> str:
    """Of iproute2, without the index."""
    shown = node.run(["ip", "-d", "link", "show", "dev", device]).stdout
    return shown.partition(":")[2]


def test_the_underlay_and_the_loopback_are_seen_alike(node: NetnsNode) -> None:
    underlay = both(node, "u0")
    assert underlay is not None
    assert (underlay.kind, underlay.addresses) == ("veth", (node.underlay.address,))
    loopback = both(node, "lo")
    assert loopback is not None
    assert loopback.kind == ""
    assert both(node, "nothing") is None


def make(way: type[Node], node: NetnsNode, kind: str) -> None:
    """Make ``t0`` of that kind; skips where the kernel does not have it."""
    try:
        way.add_link(node, "t0", kind, **KINDS[kind])
    except LabError as error:
        if kind == "dummy" and (
            "nknown device type" in str(error) or "not supported" in str(error)
        ):
            pytest.skip("this kernel has no dummy interfaces")
        raise


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_an_interface_can_be_made_changed_and_removed(
    node: NetnsNode, way: type[Node], kind: str
) -> None:
    make(way, node, kind)
    made = both(node, "t0")
    assert made is not None
    assert (made.kind, made.up, made.addresses) == (kind, False, ())
    way.add_address(node, "t0", ADDRESS)
    way.set_link(node, "t0", up=True, mtu=1420)
    assert both(node, "t0") == LinkState("t0", kind, 1420, True, (ADDRESS,))
    way.set_link(node, "t0", up=False)
    way.set_link(node, "t0", mtu=1400)
    assert both(node, "t0") == LinkState("t0", kind, 1400, False, (ADDRESS,))
    way.del_link(node, "t0")
    way.del_link(node, "t0")
    assert both(node, "t0") is None


def test_attributes_mean_the_same(node: NetnsNode) -> None:
    shown = []
    for way in WAYS:
        way.add_link(node, "x0", "vxlan", **VXLAN)
        state = both(node, "x0")
        assert state is not None
        assert state.kind == "vxlan"
        shown.append(details(node, "x0"))
        way.del_link(node, "x0")
    assert shown[0] == shown[1]
    for words in ("vxlan id 42", "remote 198.18.0.2", "dstport 4789", "nolearning", ":00:07"):
        assert words in shown[0]


def test_routes_are_the_same(node: NetnsNode) -> None:
    listed = []
    for way in WAYS:
        node.add_link("t0", "veth", peer="t1")
        node.add_address("t0", ADDRESS)
        for device in ("t0", "t1"):
            node.set_link(device, up=True)
        way.add_route(node, IPv4Network("198.19.9.0/24"), device="t0")
        way.add_route(node, IPv4Network("198.19.8.0/24"), gateway=IPv4Address("198.19.0.2"))
        routes = node.run(["ip", "-4", "route"]).stdout.splitlines()
        # Who added a route (boot, static) is not its destination.
        listed.append(
            [route.partition(" proto")[0].partition(" scope")[0].strip() for route in routes]
        )
        node.del_link("t0")
    assert listed[0] == listed[1]
    assert "198.19.9.0/24 dev t0" in listed[0]
    assert "198.19.8.0/24 via 198.19.0.2 dev t0" in listed[0]


@pytest.mark.parametrize("way", WAYS)
def test_refusals_have_a_reason_and_a_remedy(node: NetnsNode, way: type[Node]) -> None:
    attempts: list[Callable[[], None]] = [
        lambda: way.add_link(node, "t0", "nonsense"),
        lambda: way.add_address(node, "t0", ADDRESS),
        lambda: way.set_link(node, "t0", up=True),
        lambda: way.add_route(node, IPv4Network("198.19.0.0/24")),
    ]
    for attempt in attempts:
        with pytest.raises(LabError) as caught:
            attempt()
        assert caught.value.why
        assert caught.value.remedy


def test_without_iproute2_it_is_not_possible(
    node: NetnsNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NetnsNode, "find", lambda *_: None)
    with pytest.raises(NotPossible, match="ip") as caught:
        Node.link(node, "u0")
    assert "iproute2" in caught.value.remedy
