"""The contract of a lab: nodes by name, the links under them, the paths that are measured.

A VPN driver and a measurement see only this, so that a study runs unchanged in namespaces, guests,
on hosts and in Kubernetes. ``culvert.topology.shapes`` draws the topologies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from culvert.errors import CulvertError
from culvert.labs.host import Host
from culvert.labs.link.witness import Witness
from culvert.labs.node import Node
from culvert.topology.graph import Path, Role
from culvert.topology.plan import Attachment, plan
from culvert.topology.spec import LabSpec


class Ends(NamedTuple):
    """The two nodes of a path."""

    source: Node
    target: Node


class Lab(ABC):
    """A context manager: leaving removes all of it. Everything created carries ``run_id``."""

    shared_kernel: ClassVar[bool]
    """True if all nodes run on one kernel, whose CPU times then cover all of them."""
    run_id: str
    spec: LabSpec

    @property
    @abstractmethod
    def nodes(self) -> Mapping[str, Node]:
        """By name, in the order of the topology; they work while the lab is open."""

    @property
    @abstractmethod
    def hosts(self) -> Sequence[Host]:
        """The machines that carry the nodes, each once, known before the lab is open: whether a
        VPN can run there is decided by them."""

    def attachments(self, node: str) -> tuple[Attachment, ...]:
        """A node's ends of networks; the first is its underlay."""
        return plan(self.spec.topology).attachments(node)

    @property
    def path(self) -> Path:
        """The first measured path."""
        return self.spec.topology.paths[0]

    def ends(self, path: Path) -> Ends:
        """Source and target of a path."""
        return Ends(self.nodes[path.source], self.nodes[path.target])

    @property
    def a(self) -> Node:
        """The first path's source."""
        return self.nodes[self.path.source]

    @property
    def b(self) -> Node:
        """The first path's target."""
        return self.nodes[self.path.target]

    def of_role(self, *roles: Role) -> tuple[Node, ...]:
        """Nodes of these roles, in the order of the topology."""
        return tuple(self.nodes[node.name] for node in self.spec.topology.of_role(*roles))

    @property
    def members(self) -> tuple[Node, ...]:
        """Nodes that carry a tunnel's end, in the order of the topology."""
        return tuple(self.nodes[node.name] for node in self.spec.topology.members)

    def faults(self) -> Sequence[str]:
        """What the links did since they were made that nobody requested, in words."""
        return ()

    def witness(self, node: Node) -> Witness | None:
        """Of the link that a node is attached to; None where the link is not one."""
        del node
        return None

    def obstacles(self) -> Sequence[str]:
        """What the underlay has kept from passing because the lab requests it, in words."""
        return ()

    def broken(self) -> CulvertError | None:
        """What of the lab itself has died or is stopped, as the error that says so."""
        return None

    @abstractmethod
    def open(self) -> None:
        """Make nodes and links; on an error nothing is left."""

    @abstractmethod
    def close(self) -> None:
        """End every process on the nodes, remove nodes, links and directories."""

    def __enter__(self) -> Lab:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
