"""A topology is data: nodes with roles, networks that join two of them, paths that are measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from culvert.errors import UsageError
from culvert.topology.nat import Nat


class Role(StrEnum):
    """The function of a node."""

    MEMBER = "member"
    CLIENT = "client"
    GATEWAY = "gateway"
    CONTROL = "control server"
    RELAY = "relay"
    ROUTER = "router"
    PUBLIC = "public host"
    BEHIND = "host behind the gateway"


MEMBERS = frozenset({Role.MEMBER, Role.CLIENT, Role.GATEWAY})
"""Roles of nodes at a tunnel's end."""
SERVERS = frozenset({Role.CONTROL, Role.RELAY})
"""Roles of nodes that a VPN needs in addition to its members."""


@dataclass(frozen=True)
class NodeSpec:
    """A node. The other fields apply to routers: ``nat`` translates for the side of its neighbour
    ``inside``, ``blocks_udp`` drops UDP in both directions, ``filters`` adds a firewall."""

    name: str
    role: Role = Role.MEMBER
    nat: Nat | None = None
    inside: str = ""
    blocks_udp: bool = False
    filters: bool = False


@dataclass(frozen=True)
class Network:
    """A link between two nodes, named after them; traffic from left to right is ``a_to_b``."""

    left: str
    right: str

    @property
    def name(self) -> str:
        return f"{self.left}-{self.right}"

    @property
    def ends(self) -> tuple[str, str]:
        return self.left, self.right

    def beyond(self, node: str) -> str:
        return self.right if node == self.left else self.left


@dataclass(frozen=True)
class Path:
    """Measured traffic from one member to another."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}>{self.target}"


@dataclass(frozen=True)
class Topology:
    """``networks`` form a tree: between two nodes there is one route on the underlay."""

    name: str
    nodes: tuple[NodeSpec, ...]
    networks: tuple[Network, ...]
    paths: tuple[Path, ...]

    @cached_property
    def _by_name(self) -> dict[str, NodeSpec]:
        return {node.name: node for node in self.nodes}

    def node(self, name: str) -> NodeSpec:
        """The node of that name; raises UsageError."""
        if name not in self._by_name:
            known = ", ".join(self._by_name)
            raise UsageError(f"node '{name}'", f"topology {self.name} has none", f"use {known}")
        return self._by_name[name]

    def of_role(self, *roles: Role) -> tuple[NodeSpec, ...]:
        return tuple(node for node in self.nodes if node.role in roles)

    @property
    def full_tunnel(self) -> bool:
        """Whether a path's source sends everything through its tunnel: there is a public host."""
        return bool(self.of_role(Role.PUBLIC))

    @cached_property
    def members(self) -> tuple[NodeSpec, ...]:
        """Nodes at a tunnel's end, in order."""
        return tuple(node for node in self.nodes if node.role in MEMBERS)

    @cached_property
    def member_numbers(self) -> dict[str, int]:
        """The place of each member among them, from 0, by name."""
        return {node.name: number for number, node in enumerate(self.members)}

    @cached_property
    def _networks_by_node(self) -> dict[str, list[Network]]:
        found: dict[str, list[Network]] = {}
        for network in self.networks:
            for node in network.ends:
                found.setdefault(node, []).append(network)
        return found

    def networks_of(self, node: str) -> tuple[Network, ...]:
        """Networks of a node; the first is its underlay."""
        return tuple(self._networks_by_node.get(node, ()))

    @cached_property
    def impaired(self) -> frozenset[str]:
        """Networks on which a condition's impairments act: the first of each path's source. On a
        path whose target is another path's source they act at both ends."""
        return frozenset(self.networks_of(path.source)[0].name for path in self.paths)

    def between(self, source: str, target: str) -> tuple[tuple[Network, bool], ...]:
        """The networks from one node to another, each with whether it is crossed from left to
        right. Raises UsageError if there is no route."""
        ways: dict[str, tuple[tuple[Network, bool], ...]] = {source: ()}
        frontier = [source]
        while frontier and target not in ways:
            here = frontier.pop(0)
            for network in self.networks_of(here):
                there = network.beyond(here)
                if there not in ways:
                    ways[there] = (*ways[here], (network, here == network.left))
                    frontier.append(there)
        if target not in ways:
            raise UsageError(
                f"topology {self.name}", f"no network leads from {source} to {target}", "add one"
            )
        return ways[target]

    def unobstructed(self) -> Topology:
        """The topology without NAT, firewall and blocks, for measurements of the links alone."""
        bare = tuple(
            replace(node, nat=None, blocks_udp=False, filters=False) for node in self.nodes
        )
        return replace(self, nodes=bare)
