"""``underlay``: the version of IP below the VPNs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from culvert.study.conditions.nat import ROUTER_KEYS
from culvert.study.table import problem
from culvert.topology.graph import Topology
from culvert.topology.ip import IpVersion

if TYPE_CHECKING:
    from culvert.study.conditions.condition import ConditionTable
    from culvert.study.conditions.lab import LabTable

UnderlayWord = Literal["ipv4", "ipv6"]


def underlay_of(lab: LabTable, condition: ConditionTable | None = None) -> IpVersion:
    """The condition's version, else the lab's."""
    word = (condition.underlay if condition is not None else None) or lab.underlay
    return IpVersion.V6 if word == "ipv6" else IpVersion.V4


def refuse_underlay(
    lab: LabTable, condition: ConditionTable | None, topology: Topology, here: list[str | int]
) -> None:
    """Raise a problem of the study for routers that translate or filter IPv4 only."""
    if underlay_of(lab, condition) is IpVersion.V4:
        return
    filters = [node.name for node in topology.nodes if node.filters]
    if filters:
        table = lab if condition is None else condition
        keys = [key for key in ("underlay", *ROUTER_KEYS) if getattr(table, key)]
        raise problem(
            f"the router {filters[0]} translates or filters, which Culvert does for IPv4 only",
            'leave underlay out, or write topology = "pair", "star", or "mesh" without nat and '
            "block_udp",
            [*here, *keys[:1]],
        )
