"""A topology as a graph: ways, names, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import UsageError
from culvert.topology.graph import Network, NodeSpec, Path, Role, Topology
from culvert.topology.shapes import mesh, pair, routed, serving, star
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


@given(topologies(), st.data())
def test_what_is_left_without_lost_nodes_is_a_topology(
    topology: Topology, data: st.DataObject
) -> None:
    names = [node.name for node in topology.members]
    lost = data.draw(st.sets(st.sampled_from(names)))
    left = topology.without(lost)
    assert [node for node in topology.members if node.name not in lost] == list(left.members)
    assert set(topology.paths_without(lost)) <= set(left.paths) <= set(topology.paths)
    for path in left.paths:
        assert left.between(path.source, path.target) == topology.between(path.source, path.target)
    for router in left.of_role(Role.ROUTER) if lost else ():
        assert len(left.networks_of(router.name)) > 1


TWO_PAIRS = mesh(5, paths=[Path("a", "b"), Path("c", "d")])
CLIENTS = star(3, every_path=True)


@pytest.mark.parametrize(
    ("topology", "lost", "paths"),
    [
        (TWO_PAIRS, set(), ["a>b", "c>d"]),
        (TWO_PAIRS, {"b"}, ["c>d"]),
        (TWO_PAIRS, {"b", "c"}, []),
        (TWO_PAIRS, {"e"}, []),  # no path ends there: it is there for all of them
        (TWO_PAIRS, {"core"}, []),
        (serving(TWO_PAIRS, [Role.CONTROL]), {"control"}, []),
        (serving(TWO_PAIRS, [Role.CONTROL]), {"a"}, ["c>d"]),
        (CLIENTS, {"c2"}, ["c1>gateway", "c3>gateway"]),
        (CLIENTS, {"gateway"}, []),
        (pair(), {"b"}, []),
    ],
)
def test_a_path_needs_its_ends_and_all_that_serve(
    topology: Topology, lost: set[str], paths: list[str]
) -> None:
    assert [str(path) for path in topology.paths_without(lost)] == paths
