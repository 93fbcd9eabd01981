"""A topology as data for the journal, and as a drawing in characters. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from culvert.topology.graph import NodeSpec, Topology


def as_json(topology: Topology) -> dict[str, Any]:
    """Nodes with roles, networks and paths, in JSON's types."""
    return {
        "name": str(topology.name),
        "nodes": [_node(node) for node in topology.nodes],
        "networks": [list(network.ends) for network in topology.networks],
        "paths": [[path.source, path.target] for path in topology.paths],
    }


def _node(node: NodeSpec) -> dict[str, Any]:
    document_node: dict[str, Any] = {"name": node.name, "role": str(node.role)}
    if node.nat is not None:
        document_node["nat"] = str(node.nat)
    if node.blocks_udp:
        document_node["blocks_udp"] = True
    return document_node


MOST_ALIKE = 3
"""Number of equal chains that are drawn; further ones are summarised in one line."""


@dataclass(frozen=True)
class Chain:
    """Nodes from a leaf towards the hub, as labels; ``measured`` if a measured path ends at it."""

    nodes: tuple[str, ...]
    measured: bool


def chains(document: Mapping[str, Any]) -> tuple[list[Chain], str]:
    """The drawing of a document from ``as_json``, of any version, and the label of the hub: the
    node with most links; empty for a pair, which is one chain."""
    nodes = {str(node["name"]): node for node in document.get("nodes", ())}
    networks = [tuple(map(str, ends)) for ends in document.get("networks", ())]
    measured = {str(end) for path in document.get("paths", ()) for end in path}
    if len(nodes) <= 2:
        return [Chain(tuple(_label(node) for node in nodes.values()), measured=True)], ""
    neighbours: dict[str, list[str]] = {name: [] for name in nodes}
    for left, right in networks:
        neighbours[left].append(right)
        neighbours[right].append(left)
    hub = max(nodes, key=lambda name: len(neighbours[name]))
    found: list[Chain] = []
    alike: dict[tuple[str, ...], int] = {}
    for leaf in nodes:
        if leaf == hub or len(neighbours[leaf]) != 1:
            continue
        way = _towards(leaf, hub, neighbours)
        kind = tuple(_kind(nodes[name]) for name in way)
        alike[kind] = alike.get(kind, 0) + 1
        if alike[kind] <= MOST_ALIKE:
            found.append(Chain(tuple(_label(nodes[name]) for name in way), leaf in measured))
    found += [
        Chain((f"{count - MOST_ALIKE} more like these",), measured=False)
        for count in alike.values()
        if count > MOST_ALIKE
    ]
    return found, _label(nodes[hub])


def _towards(leaf: str, hub: str, neighbours: Mapping[str, Sequence[str]]) -> list[str]:
    way, before, here = [leaf], "", leaf
    while len(way) < len(neighbours):  # a foreign document may have a ring
        further = [other for other in neighbours[here] if other != before]
        if not further or further[0] == hub:
            break
        before, here = here, further[0]
        way.append(here)
    return way


def _kind(node: Mapping[str, Any]) -> str:
    return f"{node.get('role')} {node.get('nat')} {node.get('blocks_udp')}"


def _label(node: Mapping[str, Any]) -> str:
    words = [str(node["name"])]
    if node.get("role") not in ("member", "router", node["name"]):
        words.append(f"({node.get('role')})")
    if "nat" in node:
        words = [str(node["name"]), f"{node['nat']} NAT"]
    if node.get("blocks_udp"):
        words.append("no UDP")
    return " ".join(words)
