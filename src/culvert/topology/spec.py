"""The specification of a lab: a topology, its links, its processors and the place of its pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from culvert.topology.graph import Path, Topology
from culvert.topology.ip import IpVersion
from culvert.topology.link.impairment import CLEAN
from culvert.topology.link.spec import ANY_LINK, LinkSpec, along
from culvert.topology.shapes import pair


@dataclass(frozen=True)
class Steering:
    """Receive packet steering, receive flow steering, transmit packet steering on the underlay's
    devices (the kernel's Documentation/networking/scaling.rst). None: the kernel's settings."""

    rps: bool | None = None
    rfs: bool | None = None
    xps: bool | None = None

    def __bool__(self) -> bool:
        return any(setting is not None for setting in (self.rps, self.rfs, self.xps))


UNSTEERED = Steering()


@dataclass(frozen=True)
class Processors:
    """``quota`` maps a node's name to the share of each of its CPUs that its programs get.

    ``aes`` False keeps programs from using AES instructions, True requires a processor that has
    them, None leaves it unchanged.
    """

    aes: bool | None = None
    quota: Mapping[str, float] = field(default_factory=dict)
    steering: Steering = UNSTEERED
    interrupts: tuple[int, ...] = ()
    """The CPUs that handle the machine's interrupts; empty: unchanged."""
    tunnel: Steering = UNSTEERED
    """Of the VPN's own devices on its members."""
    turbo: bool | None = None
    """The state of turbo boost that the machines must have; None: any."""


AS_THEY_ARE = Processors()


class Placement(StrEnum):
    """The values of a condition's ``pods``."""

    TWO_NODES = "two-nodes"
    """A pod on each of two nodes."""
    ONE_NODE = "one-node"
    """Two pods on one node."""
    SERVICE = "service"
    """A pod on one node, and a service whose only pod is on another node."""
    HOST_NETWORK = "host-network"
    """Pods in the networks of two nodes."""

    @property
    def of_two_nodes(self) -> bool:
        return self is not Placement.ONE_NODE


PAIR = pair()


@dataclass(frozen=True)
class Allowed:
    """A rule of a router's firewall: it passes a protocol (udp, tcp, icmp, esp ...) and destination
    ports, if any; without ports the whole protocol."""

    protocol: str
    ports: frozenset[int] = frozenset()


@dataclass(frozen=True)
class LabSpec:
    """Nodes and links. ``cpus`` maps a node's name to the CPUs that its processes may use.

    ``link`` is that of each network; its impairments act on those of ``topology.impaired`` only.
    ``links`` replaces it for single networks, by name. ``firewall`` are the rules of a routed lab's
    router, which also passes answers; None passes everything.
    """

    topology: Topology = PAIR
    link: LinkSpec = ANY_LINK
    cpus: Mapping[str, tuple[int, ...]] | None = None
    firewall: tuple[Allowed, ...] | None = None
    processors: Processors = AS_THEY_ARE
    links: Mapping[str, LinkSpec] = field(default_factory=dict)
    pods: Placement | None = None
    """Where the ends of the path are in a cluster; None: not stated."""
    overlay_mtu: int | None = None
    """Largest MTU in bytes of the pods of the embedded cluster; None: what the underlay leaves."""
    underlay: IpVersion = IpVersion.V4
    """The version with which nodes reach each other below the VPNs; of namespaces only."""
    inner: IpVersion = IpVersion.V4
    """That of measured packets inside the VPNs; of namespaces only."""
    ipv6_inside: bool = False
    """Whether drivers give members IPv6 addresses too, where their VPN has such; of namespaces
    only, where otherwise no device has any."""

    @property
    def members_have_ipv6(self) -> bool:
        """Whether drivers give members IPv6 addresses inside the VPN."""
        inside = self.ipv6_inside or self.inner is IpVersion.V6
        return inside or self.topology.full_tunnel

    @cached_property
    def mtu(self) -> int:
        """Bytes of the longest IP packet that every link carries whole."""
        return min(self.link_of(network.name).mtu for network in self.topology.networks)

    def link_of(self, network: str) -> LinkSpec:
        if network in self.links:
            return self.links[network]
        if network in self.topology.impaired:
            return self.link
        return replace(self.link, impairment=CLEAN)

    def path_link(self, path: Path) -> LinkSpec:
        """All links of a path combined into one, from its source to its target.

        Raises UsageError for impairments of several links that cannot be stated as one.
        """
        return along(
            [
                (self.link_of(network.name), forward)
                for network, forward in self.topology.between(path.source, path.target)
            ],
            str(path),
        )

    def on(self, topology: Topology) -> LabSpec:
        """The lab on another topology, without links and CPUs of nodes that it does not have."""
        networks = {network.name for network in topology.networks}
        names = {node.name for node in topology.nodes}
        links = {name: link for name, link in self.links.items() if name in networks}
        cpus = self.cpus and {name: cpus for name, cpus in self.cpus.items() if name in names}
        return replace(self, topology=topology, links=links, cpus=cpus)

    def with_seed(self, seed: int) -> LabSpec:
        """The lab with another seed of the links' randomness, another one for each network."""
        links = {
            name: replace(link, seed=seed + 1 + number)
            for number, (name, link) in enumerate(self.links.items())
        }
        return replace(self, link=replace(self.link, seed=seed), links=links)

    def unobstructed(self) -> LabSpec:
        """The lab without firewall, NAT and blocks, for measurements of the links themselves,
        which carry packets of IPv4."""
        topology = self.topology.unobstructed()
        return replace(self, firewall=None, topology=topology, underlay=IpVersion.V4)
