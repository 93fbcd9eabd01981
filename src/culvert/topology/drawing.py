"""A topology as data for the journal, and as a drawing in characters. Pure."""

from __future__ import annotations

from collections.abc import Mapping
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
    told: dict[str, Any] = {"name": node.name, "role": str(node.role)}
    if node.nat is not None:
        told["nat"] = str(node.nat)
    if node.blocks_udp:
        told["blocks_udp"] = True
    return told


def rows(document: Mapping[str, Any]) -> list[list[str]]:
    """The drawing: for each chain of nodes that ends at the one with most links, their labels.

    A pair is one chain of two. ``document`` is as ``as_json`` gives it, from whatever version.
    """
    labels = {node["name"]: _label(node) for node in document.get("nodes", ())}
    networks = [tuple(ends) for ends in document.get("networks", ())]
    degree = {name: sum(name in ends for ends in networks) for name in labels}
    hub = max(labels, key=lambda name: degree[name], default="")
    leaves = [name for name in labels if degree[name] == 1 and name != hub]
    if len(labels) == 2:
        return [list(labels.values())]
    chains = []
    for leaf in leaves:
        chain, before, here = [labels[leaf]], "", leaf
        while here != hub:
            further = [
                other
                for ends in networks
                if here in ends
                for other in ends
                if other not in (here, before)
            ]
            if not further:
                break
            before, here = here, further[0]
            chain.append(labels[here])
        chains.append(chain)
    return chains


def _label(node: Mapping[str, Any]) -> str:
    role = node.get("role", "")
    words = [node["name"]] + ([f"({role})"] if role not in ("member", "router") else [])
    if "nat" in node:
        words.append(f"[{node['nat']} NAT]")
    if node.get("blocks_udp"):
        words.append("[no UDP]")
    return " ".join(words)
