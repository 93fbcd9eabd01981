"""The contract of a lab: nodes by name, the links between them, the measured paths.

VPN drivers and measurements use only this interface, so that a study runs unchanged in namespaces,
guests, on hosts and in Kubernetes. ``culvert.topology.shapes`` defines the topologies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any, ClassVar, Generic, NamedTuple, Self

from culvert.errors import CulvertError
from culvert.labs.endpoint import Endpoint
from culvert.labs.host import Host
from culvert.labs.node import AnyNode
from culvert.labs.process import Process
from culvert.topology.graph import Path, Role
from culvert.topology.plan import TUNNELS, Attachment, plan
from culvert.topology.spec import LabSpec


@dataclass(frozen=True)
class Footprint:
    """``devices`` by node that will be created; IP ``protocols`` with the ``ports`` that are bound
    on nodes (without ports for ESP and such); inner addresses come from ``networks``; ``tables`` of
    routes and ``firewall_tables`` (nftables: names in the families ip and ip6) are its own."""

    devices: Mapping[str, str]
    ports: Mapping[int, frozenset[int]]
    networks: tuple[IPv4Network, ...]
    tables: frozenset[str] = frozenset()
    firewall_tables: frozenset[str] = frozenset()

    @property
    def unused(self) -> bool:
        """Whether nothing will be used."""
        numbered = self.ports or self.networks or self.tables
        return not (self.devices or numbered or self.firewall_tables)


@dataclass(frozen=True)
class Handed:
    """Packets that a node has handed to its link until now, and the bytes of their frames; a
    super-packet is as many packets as it stands for."""

    packets: int
    frame_bytes: int

    def since(self, before: Handed) -> Handed:
        """Packets and bytes handed over since ``before``."""
        return Handed(self.packets - before.packets, self.frame_bytes - before.frame_bytes)


class Ends(NamedTuple, Generic[AnyNode]):
    """The two nodes of a path."""

    source: AnyNode
    target: AnyNode


class Lab(ABC, Generic[AnyNode]):
    """A context manager; leaving it removes the lab. All objects are marked with ``run_id``."""

    real_links: ClassVar[bool] = False
    """True for links of real machines: their conditions are measured, not made."""
    overlaid: ClassVar[bool] = False
    """True if another network, which is not the VPN's, is between the nodes and the links."""
    impairs: bool = False
    """True if the ends of real links make the impairments that a condition requests."""
    shared_kernel: bool
    """True if all nodes run on one kernel, whose CPU times then cover all of them."""
    run_id: str
    spec: LabSpec

    @property
    def shared_processes(self) -> bool:
        """True if a process id of this machine means the same process on every node."""
        return self.shared_kernel

    @property
    @abstractmethod
    def nodes(self) -> Mapping[str, AnyNode]:
        """Nodes by name, in the order of the topology; usable while the lab is open."""

    @property
    @abstractmethod
    def hosts(self) -> Sequence[Host]:
        """The machines of the nodes, each once, known before the lab is open: they determine
        whether a VPN can run in the lab."""

    def attachments(self, node: str) -> tuple[Attachment, ...]:
        """A node's ends of networks; the first is its underlay."""
        return plan(self.spec.topology, self.spec.underlay).attachments(node)

    @property
    def behind(self) -> tuple[IPv4Network, ...]:
        """Networks behind the gateway, which its VPN routes to the clients."""
        if not self.spec.topology.of_role(Role.BEHIND):  # real links have no plan
            return ()
        return plan(self.spec.topology, self.spec.underlay).behind

    @property
    def path(self) -> Path:
        """The first measured path."""
        return self.spec.topology.paths[0]

    def ends(self, path: Path) -> Ends[AnyNode]:
        """Source and target of a path."""
        return Ends(self.nodes[path.source], self.nodes[path.target])

    @property
    def a(self) -> AnyNode:
        """The first path's source."""
        return self.nodes[self.path.source]

    @property
    def b(self) -> AnyNode:
        """The first path's target."""
        return self.nodes[self.path.target]

    def of_role(self, *roles: Role) -> tuple[AnyNode, ...]:
        """Nodes of these roles, in the order of the topology."""
        return tuple(self.nodes[node.name] for node in self.spec.topology.of_role(*roles))

    @property
    def members(self) -> tuple[AnyNode, ...]:
        """Nodes with a tunnel endpoint, in the order of the topology."""
        return tuple(self.nodes[node.name] for node in self.spec.topology.members)

    def faults(self) -> Sequence[str]:
        """Faults of the links since they were created, in words: effects that no condition
        requests."""
        return ()

    def handed(self, node: Endpoint) -> Handed | None:
        """Packets that a node has handed to its link; None if only its kernel counts them."""
        del node
        return None

    def obstacles(self) -> Sequence[str]:
        """Packets that the underlay has blocked as the lab requests, in words."""
        return ()

    @property
    def programs(self) -> Sequence[Process]:
        """Culvert's own, that make its links."""
        return ()

    def broken(self) -> CulvertError | None:
        """An error if a part of the lab itself has died or is stopped; None if all work."""
        return None

    @property
    def tunnels(self) -> IPv4Network:
        """The network that addresses inside tunnels come from."""
        return TUNNELS

    def free_device(self, usual: str) -> str:
        """The name for an interface on all nodes: the usual one, unless it is in use."""
        return usual

    def free_port(self, usual: int) -> int:
        """The port, of UDP and TCP, on all nodes: the usual one, unless it is in use."""
        return usual

    @property
    def choices(self) -> Mapping[str, str]:
        """What was chosen in place of the usual, in words, by kind."""
        return {}

    @property
    def rounds(self) -> Sequence[Sequence[Path]]:
        """The measured paths in their order; those of one round do not disturb each other."""
        return [[path] for path in self.spec.topology.paths]

    def admit(self, footprint: Footprint) -> None:
        """Raise NotPossible if something else on a node already uses what a VPN is about to use.
        Namespaces of the lab's own have nothing else."""
        del footprint

    def disturbed(self) -> CulvertError | None:
        """An error that names a change of the VPN outside the lab; None without one."""
        return None

    def capture_scope(self, path: Path) -> Mapping[str, Any] | None:
        """The ``scope`` of a capture on a path's nodes: the packets of the lab among others; None
        if the link carries no others."""
        del path
        return None

    @abstractmethod
    def open(self) -> None:
        """Create nodes and links; after an error nothing remains."""

    @abstractmethod
    def close(self) -> None:
        """Stop every process on the nodes, remove nodes, links and directories."""

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
