"""Interfaces, addresses and routes on nodes, and waiting for them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

import pytest

from culvert.errors import DeadlineExceeded, LabError
from culvert.labs.endpoint import LinkState
from culvert.labs.namespace import interfaces
from tests.conftest import LabFactory

pytestmark = pytest.mark.lab


def test_an_interface_that_is_not_there_is_none(lab: LabFactory) -> None:
    assert lab().a.link("nothing") is None


def test_an_interface_can_be_made_changed_and_removed(lab: LabFactory) -> None:
    node = lab().a
    address = IPv4Interface("198.19.0.1/24")
    node.add_link("t0", "veth", peer="t1")
    node.add_address("t0", address)
    node.set_link("t0", up=True, mtu=1420)
    assert node.link("t0") == LinkState("t0", "veth", 1420, True, (address,))
    node.set_link("t1", up=True)
    node.add_route(IPv4Network("198.19.9.0/24"), device="t0")
    node.add_route(IPv4Network("198.19.8.0/24"), gateway=IPv4Address("198.19.0.2"))
    routes = node.run(["ip", "-4", "route"]).stdout
    assert "198.19.9.0/24 dev t0" in routes
    assert "198.19.8.0/24 via 198.19.0.2 dev t0" in routes
    node.set_link("t0", up=False)
    state = node.link("t0")
    assert state is not None
    assert not state.up
    node.del_link("t0")
    node.del_link("t0")
    assert node.link("t0") is None


def test_the_underlay_is_ready_when_the_lab_is_open(lab: LabFactory) -> None:
    """A packet that is sent too early is lost without a trace."""
    pair = lab()
    for node in (pair.a, pair.b):
        state = node.run(["cat", "/sys/class/net/u0/operstate"]).stdout
        assert state == "up\n"


def test_a_carrier_that_comes_is_awaited(lab: LabFactory) -> None:
    """The other end comes up while an interface of the node waits for it."""
    node = lab().a
    node.add_link("t0", "veth", peer="t1")
    node.set_link("t0", up=True)
    with pytest.raises(DeadlineExceeded, match="the carrier of interface t0"):
        interfaces.wait_ready(node.namespace, "t0", deadline_s=0.02)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(interfaces.wait_ready, node.namespace, "t0", deadline_s=20)
        node.set_link("t1", up=True)
        waiting.result()


def test_refusals_name_the_thing_and_the_reason(lab: LabFactory) -> None:
    node = lab().a
    with pytest.raises(LabError, match=r"interface t0 of kind nonsense.*not supported"):
        node.add_link("t0", "nonsense")
    with pytest.raises(LabError, match=r"address .* on t0.*No such device"):
        node.add_address("t0", IPv4Interface("198.19.0.1/24"))
    with pytest.raises(LabError, match="has no device or gateway"):
        node.add_route(IPv4Network("198.19.0.0/24"))
