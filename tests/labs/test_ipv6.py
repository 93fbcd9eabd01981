"""A lab whose nodes reach each other by IPv6 alone."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from ipaddress import IPv6Interface

import pytest

from culvert.labs.netns.lab import NetnsLab
from culvert.labs.netns.node import NetnsNode
from culvert.runid import new_run_id
from culvert.topology.graph import Role
from culvert.topology.ip import Address, IpVersion
from culvert.topology.link.spec import LinkKind, LinkSpec
from culvert.topology.shapes import CORE, mesh, serving
from culvert.topology.spec import LabSpec

pytestmark = pytest.mark.lab
TOPOLOGY = serving(mesh(2), [Role.CONTROL])
ENDS = ("a", "b", "control")


@pytest.fixture(scope="module", params=["veth", "wire"])
def made(request: pytest.FixtureRequest) -> Iterator[NetnsLab]:
    """One of each kind for all tests here: they change nothing."""
    kind: LinkKind = request.param
    spec = LabSpec(topology=TOPOLOGY, link=LinkSpec(kind=kind), underlay=IpVersion.V6)
    with NetnsLab(new_run_id(), spec) as opened:
        yield opened


def pings(source: NetnsNode, address: Address) -> bool:
    done = source.run(["ping", "-n", "-c1", "-W1", str(address)], check=False)
    return done.returncode == 0


def test_each_reaches_each_by_ipv6_and_none_by_ipv4(made: NetnsLab) -> None:
    nodes = [made.nodes[name] for name in ENDS]
    for source in nodes:
        for target in nodes:
            if source is not target:
                assert pings(source, target.underlay.reached_at.ip)
                assert not pings(source, target.underlay.address.ip)


@pytest.mark.parametrize("kind", ["veth", "wire"])
def test_addresses_are_in_use_once_it_is_open(kind: LinkKind) -> None:
    """The kernel does that in a work queue: at once, as long as nothing else is at work."""
    spec = LabSpec(topology=mesh(4), link=LinkSpec(kind=kind), underlay=IpVersion.V6)
    for _ in range(3):
        with NetnsLab(new_run_id(), spec) as opened:
            for node in opened.nodes.values():
                for attachment in node.attachments:
                    node.inside(lambda: bind(attachment.ipv6))  # noqa: B023 - called at once


def bind(interface: IPv6Interface | None) -> None:
    assert interface is not None
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as bound:
        bound.bind((str(interface.ip), 0))


def test_a_device_has_the_labs_address_only(made: NetnsLab) -> None:
    for name in (*ENDS, CORE):
        node = made.nodes[name]
        for attachment in node.attachments:
            shown = node.run(["ip", "-6", "-o", "address", "show", "dev", attachment.device]).stdout
            (line,) = shown.splitlines()
            assert str(attachment.ipv6) in line
            assert "tentative" not in line


def test_a_device_that_a_program_makes_has_no_ipv6(made: NetnsLab) -> None:
    """What it does not get from its program would be traffic of its own."""
    for name in ENDS:
        default = "/proc/sys/net/ipv6/conf/default/disable_ipv6"
        assert made.nodes[name].text(default).strip() == "1"
