"""UDP between two members is dropped at a router, counted, and freed; nothing else is touched."""

from __future__ import annotations

import pytest

from culvert.errors import NotPossible
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.netns.node import NetnsNode
from culvert.labs.node import Node
from culvert.labs.router.block import TABLE, UdpBlock
from culvert.runid import new_run_id
from culvert.topology.graph import Path, Role, Topology
from culvert.topology.nat import Nat
from culvert.topology.shapes import mesh, routed, serving, star
from culvert.topology.spec import LabSpec
from tests.conftest import LabFactory
from tests.labs.traffic import tcp_pair, udp_pair

pytestmark = pytest.mark.lab
PACKETS = 5
QUIET_S = 0.15


def arrived(sender: Node, receiver: Node) -> int:
    """Of PACKETS datagrams."""
    assert isinstance(sender, NetnsNode)
    assert isinstance(receiver, NetnsNode)
    with udp_pair(sender, receiver) as (near, far):
        far.settimeout(QUIET_S)
        for _ in range(PACKETS):
            near.send(b"there")
        count = 0
        try:
            while count < PACKETS:
                far.recv(16)
                count += 1
        except TimeoutError:
            pass
        return count


@pytest.mark.parametrize(
    "topology",
    [
        serving(mesh(2), [Role.CONTROL, Role.RELAY]),
        serving(mesh(2, nats={"a": [Nat.FULL_CONE]}), [Role.RELAY]),
        routed(),
        star(1),
    ],
    ids=["mesh", "behind a NAT", "routed", "star"],
)
def test_udp_is_dropped_counted_and_freed(lab: LabFactory, topology: Topology) -> None:
    made = lab(LabSpec(topology=topology))
    a, b = made.nodes[made.path.source], made.nodes[made.path.target]
    block = UdpBlock(made, made.path)
    assert arrived(a, b) == PACKETS
    assert block.end() == 0
    block.begin()
    assert arrived(a, b) == 0
    with tcp_pair(a, b):
        pass
    for server in made.of_role(Role.CONTROL, Role.RELAY):
        assert arrived(a, server) == PACKETS
    assert block.end() == PACKETS
    assert arrived(a, b) == PACKETS
    assert block.end() == 0
    for router in made.of_role(Role.ROUTER):
        assert TABLE not in router.run(["nft", "list", "tables"]).stdout


def test_both_directions_are_blocked_and_other_members_are_not(lab: LabFactory) -> None:
    made = lab(LabSpec(topology=mesh(3)))
    a, b, c = made.members
    block = UdpBlock(made, Path("a", "b"))
    block.begin()
    assert (arrived(a, b), arrived(b, a)) == (0, 0)
    assert (arrived(a, c), arrived(c, b)) == (PACKETS, PACKETS)
    assert block.end() == 2 * PACKETS


def test_on_one_link_nothing_can_block() -> None:
    made = NetnsLab(new_run_id(), LabSpec())
    with pytest.raises(NotPossible, match="no router between them") as caught:
        UdpBlock(made, made.path)
    assert "mesh" in caught.value.remedy
