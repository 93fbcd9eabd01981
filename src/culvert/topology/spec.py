"""What a lab is made of: a topology, its links and its processors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Interface
from typing import Literal

from culvert.topology.link.spec import ANY_LINK, LinkSpec
from culvert.topology.nat import Nat
from culvert.topology.processors import AS_THEY_ARE, Processors

Topology = Literal["pair", "routed"]


@dataclass(frozen=True)
class Allowed:
    """What a router's firewall lets pass: a protocol (udp, tcp, icmp, esp ...) and, for those that
    have them, destination ports; without ports all of the protocol."""

    protocol: str
    ports: frozenset[int] = frozenset()


@dataclass(frozen=True)
class LabSpec:
    """Nodes and links. ``cpus`` maps a node's name to the CPUs that its processes may use.

    ``firewall`` is what the router of a routed lab lets pass besides answers; None is everything
    between a and b. ``nat`` names the node that is behind the router's NAT, and its kind;
    ``block_udp`` drops UDP on the router. All three are for routed labs.
    """

    topology: Topology = "pair"
    link: LinkSpec = ANY_LINK
    cpus: Mapping[str, tuple[int, ...]] | None = None
    firewall: tuple[Allowed, ...] | None = None
    nat: Mapping[str, Nat] = field(default_factory=dict)
    block_udp: bool = False
    processors: Processors = AS_THEY_ARE


@dataclass(frozen=True)
class Attachment:
    """Where a node is on the underlay: the device and the address on it."""

    device: str
    address: IPv4Interface
