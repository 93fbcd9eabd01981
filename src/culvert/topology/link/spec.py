"""A link between nodes, as a condition specifies it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

from culvert.topology.link.impairment import CLEAN, Impairment

LinkKind = Literal["veth", "wire", "netem"]
"""``veth`` is a pair of virtual devices; ``wire`` is Culvert's own emulated link, which decides
about each packet of the wire; ``netem`` is a veth pair impaired by the kernel's emulator."""

RealKind = Literal["real"]
"""The link between two hosts, as it is: no study creates it."""


ETHERNET_MTU = 1500
"""Bytes of an IP packet, of links that Culvert makes where a study writes no MTU."""


@dataclass(frozen=True)
class LinkSpec:
    """The underlay that a condition specifies.

    ``rate_bps`` None means unlimited. ``offloads`` False means that the link carries only real
    wire packets (GSO, TSO, GRO and UDP segmentation are off at every end of it). ``seed`` and a
    packet's number determine what the wire does to it.
    """

    kind: LinkKind | RealKind = "veth"
    rate_bps: int | None = None
    mtu: int = ETHERNET_MTU
    mtu_requested: bool = False
    """Whether the study writes the MTU: that of a real link is judged only then."""
    offloads: bool = False
    impairment: Impairment = CLEAN
    seed: int = 1
    queues: int = 1
    """Number of queues at each end of a veth, in each direction: several, so that packets can be
    steered."""

    def requesting(self, mtu: int | None) -> Self:
        """The same with an MTU in bytes that the study writes; None: it writes none."""
        return self if mtu is None else replace(self, mtu=mtu, mtu_requested=True)


ANY_LINK = LinkSpec()
"""A veth pair without a limit."""
