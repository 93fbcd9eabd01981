"""A topology in the journal, and as chains of labels."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given

from culvert.topology.drawing import MOST_ALIKE, Chain, as_json, chains
from culvert.topology.graph import Role, Topology
from culvert.topology.nat import Nat
from culvert.topology.shapes import mesh, routed, serving, star
from tests.topology.drawn import topologies

MESH = serving(
    mesh(
        3,
        nats={"a": [Nat.FULL_CONE], "b": [Nat.SYMMETRIC, Nat.PORT_RESTRICTED]},
        block_udp=["c"],
    ),
    [Role.CONTROL],
)


@given(topologies())
def test_json_keeps_nodes_networks_and_paths(topology: Topology) -> None:
    document = json.loads(json.dumps(as_json(topology)))
    assert document == as_json(topology)
    assert [node["name"] for node in document["nodes"]] == [node.name for node in topology.nodes]
    assert {node["name"] for node in document["nodes"] if "nat" in node} == {
        node.name for node in topology.nodes if node.nat
    }
    assert document["networks"] == [list(network.ends) for network in topology.networks]
    assert document["paths"] == [[path.source, path.target] for path in topology.paths]


@given(topologies())
def test_chains_lead_over_neighbours_from_each_leaf_to_the_hub(topology: Topology) -> None:
    drawn, hub = chains(as_json(topology))
    if len(topology.nodes) == 2:
        assert (drawn, hub) == ([Chain(("a", "b"), measured=True)], "")
        return
    joined = {frozenset(network.ends) for network in topology.networks}
    ends = {end for path in topology.paths for end in (path.source, path.target)}
    leaves = [node.name for node in topology.nodes if len(topology.networks_of(node.name)) == 1]
    left_out = 0
    for chain in drawn:
        if "more like these" in chain.nodes[0]:
            left_out += int(chain.nodes[0].split()[0])
            continue
        names = [label.split()[0] for label in (*chain.nodes, hub)]
        assert {frozenset(both) for both in pairwise(names)} <= joined
        assert chain.measured == (names[0] in ends)
        leaves.remove(names[0])
    assert len(leaves) == left_out


@pytest.mark.parametrize(
    ("topology", "hub", "drawn"),
    [
        (
            routed({"a": Nat.SYMMETRIC}, block_udp=True),
            "router symmetric NAT no UDP",
            [("a",), ("b",)],
        ),
        (star(2), "core", [("c1 (client)",), ("c2 (client)",), ("gateway",)]),
        (
            star(9),
            "core",
            [
                *((f"c{number} (client)",) for number in range(1, MOST_ALIKE + 1)),
                ("gateway",),
                ("6 more like these",),
            ],
        ),
        (
            MESH,
            "core",
            [
                ("a", "nata full-cone NAT"),
                ("b", "natb symmetric NAT", "cgnb port-restricted NAT"),
                ("c", "fwc no UDP"),
                ("control (control server)",),
            ],
        ),
    ],
)
def test_labels_show_roles_nats_and_blocks(
    topology: Topology, hub: str, drawn: list[tuple[str, ...]]
) -> None:
    found, middle = chains(as_json(topology))
    assert ([chain.nodes for chain in found], middle) == (drawn, hub)


def test_a_document_without_a_topology_draws_no_node() -> None:
    assert chains({}) == ([Chain((), measured=True)], "")


def test_a_foreign_document_with_a_ring_is_drawn() -> None:
    ring = [("p", "q"), ("q", "r"), ("r", "p"), ("p", "leaf")]
    hub = [("h", name) for name in "abcd"]
    names = {name for ends in (*ring, *hub) for name in ends}
    nodes = [{"name": name, "role": "member"} for name in sorted(names)]
    drawn, middle = chains({"nodes": nodes, "networks": [*ring, *hub]})
    assert middle == "h"
    (far,) = (chain.nodes for chain in drawn if len(chain.nodes) > 1)
    assert far[:4] == ("leaf", "p", "q", "r")
