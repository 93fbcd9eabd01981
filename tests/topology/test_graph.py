"""A topology as a graph: ways, names, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given

from culvert.errors import UsageError
from culvert.topology.graph import Network, NodeSpec, Path, Role, Topology
from culvert.topology.shapes import mesh, pair, routed, star
from tests.topology.drawn import topologies

AB = (NodeSpec("a"), NodeSpec("b"))
LINK = (Network("a", "b"),)
PATH = (Path("a", "b"),)


@given(topologies())
def test_between_is_symmetric_and_goes_from_node_to_node(topology: Topology) -> None:
    names = [node.name for node in topology.nodes]
    for source in names[:4]:
        for target in names[-4:]:
            there = topology.between(source, target)
            back = [(network, not forward) for network, forward in topology.between(target, source)]
            assert list(there) == back[::-1]
            here = source
            for network, forward in there:
                assert here == (network.left if forward else network.right)
                here = network.beyond(here)
            assert here == target


@given(topologies())
def test_a_path_is_impaired_once(topology: Topology) -> None:
    for path in topology.paths:
        names = [network.name for network, _ in topology.between(path.source, path.target)]
        assert [name for name in names if name in topology.impaired] == names[:1]


@given(topologies())
def test_members_are_the_ends_of_paths_and_no_router(topology: Topology) -> None:
    members = {node.name for node in topology.members}
    assert {end for path in topology.paths for end in (path.source, path.target)} <= members
    assert not members & {node.name for node in topology.of_role(Role.ROUTER)}


@given(topologies())
def test_unobstructed_is_the_same_without_what_routers_do(topology: Topology) -> None:
    bare = topology.unobstructed()
    assert (bare.networks, bare.paths) == (topology.networks, topology.paths)
    assert [node.name for node in bare.nodes] == [node.name for node in topology.nodes]
    assert not any(node.nat or node.blocks_udp or node.filters for node in bare.nodes)


def test_a_path_and_a_network_have_words() -> None:
    assert [str(path) for path in star(2, every_path=True).paths] == ["c1>gateway", "c2>gateway"]
    assert [network.name for network in routed().networks] == ["a-router", "router-b"]
    assert mesh(2).networks_of("core") == mesh(2).networks


def test_an_unknown_node_is_named_with_those_that_are_known() -> None:
    with pytest.raises(UsageError, match="node 'c'") as caught:
        pair().node("c")
    assert caught.value.remedy == "use a, b"


def test_without_a_network_there_is_no_way() -> None:
    with pytest.raises(UsageError, match="no network leads from a to b") as caught:
        Topology("odd", AB, (), PATH).between("a", "b")
    assert caught.value.remedy
