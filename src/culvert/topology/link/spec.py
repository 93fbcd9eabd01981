"""A link between nodes, as a condition specifies it; several in a row, as one for a path. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

from culvert.errors import UsageError
from culvert.topology.link.impairment import CLEAN, Impairment, OneWay

LinkKind = Literal["veth", "wire", "netem"]
"""``veth`` is a pair of virtual devices; ``wire`` is Culvert's own emulated link, which decides
about each packet of the wire; ``netem`` is a veth pair impaired by the kernel's emulator."""

RealKind = Literal["real"]
"""The link between two hosts, as it is: no study creates it."""


ETHERNET_MTU = 1500
"""Bytes of an IP packet, of links that Culvert makes where a study writes no MTU."""
ETHERNET_HEADER = 14
"""Bytes before the packet in a frame, which devices count and captures do not."""


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

    @property
    def slowest_bps(self) -> float | None:
        """The rate of the slower direction, of a recorded one the mean; None: unlimited."""
        rates = [
            way.rate_on(self.rate_bps) if way.trace is None else way.trace.mean_rate_bps
            for way in self.impairment.ways
        ]
        return min((rate for rate in rates if rate is not None), default=None)

    def requesting(self, mtu: int | None) -> Self:
        """The link with an MTU in bytes that the study writes; None: it writes none."""
        return self if mtu is None else replace(self, mtu=mtu, mtu_requested=True)


ANY_LINK = LinkSpec()
"""A veth pair without a limit."""


_NOTHING = OneWay()


def along(links: Sequence[tuple[LinkSpec, bool]], name: str) -> LinkSpec:
    """The links of a path, each with whether it is crossed from left to right.

    The lowest rate and MTU count; delays add up, independent losses combine. Raises UsageError for
    other impairments on more than one link, because they cannot be combined.
    """
    first = links[0][0]
    mtu = min(link.mtu for link, _ in links)
    rates = [link.rate_bps for link, _ in links if link.rate_bps is not None]
    directions = []
    for towards_target in (True, False):
        ways = [
            link.impairment.a_to_b if forward is towards_target else link.impairment.b_to_a
            for link, forward in links
        ]
        directions.append(_combined(ways, name))
    return replace(
        first,
        rate_bps=min(rates, default=None),
        mtu=mtu,
        mtu_requested=any(link.mtu_requested for link, _ in links if link.mtu == mtu),
        offloads=any(link.offloads for link, _ in links),
        impairment=Impairment(*directions),
    )


def _combined(ways: Sequence[OneWay], name: str) -> OneWay:
    impaired = [way for way in ways if way != _NOTHING]
    if len(impaired) < 2:
        return impaired[0] if impaired else _NOTHING
    delay_ns, passing = 0, 1.0
    for way in impaired:
        if replace(way, delay_ns=0, loss=0.0) != _NOTHING or not isinstance(way.loss, float | int):
            raise UsageError(
                f"the links of path {name}",
                "several of them have impairments other than delay and independent loss",
                "give those to one link of the path",
            )
        delay_ns += way.delay_ns
        passing *= 1 - way.loss
    return OneWay(delay_ns=delay_ns, loss=1 - passing)
