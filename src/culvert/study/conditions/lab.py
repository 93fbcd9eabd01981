"""``[lab]``: nodes and links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import (
    Discriminator,
    Field,
    Tag,
)

from culvert.errors import NotPossible
from culvert.study.conditions.nat import BlockValue, NatValue
from culvert.study.conditions.topology import NodeCount, PathsValue, ShapeWord, VersionWord
from culvert.study.table import Mtu, Table, shape
from culvert.topology.link.spec import LinkKind
from culvert.topology.shapes import Shape
from culvert.units import RateBps

CpuList = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False, min_length=1)]


class LinkTable(Table):
    """``[lab] link``: the underlay, unless a condition changes it."""

    kind: LinkKind = "veth"
    rate_bps: Annotated[RateBps, Field(gt=0)] | None = Field(None, alias="rate")
    mtu: Mtu | None = None
    """None: 1500 for links that Culvert makes; real links have their own."""
    offloads: bool = False


NodeCpus = dict[str, CpuList]
"""``[lab] cpus`` as a table: the CPUs that the processes of each node may use."""


def checked(
    wanted: Mapping[str, tuple[int, ...]], cores: Sequence[tuple[int, ...]]
) -> Mapping[str, tuple[int, ...]]:
    """CPUs by node. Raises NotPossible for a CPU that is not among ``cores``."""
    usable = {cpu for core in cores for cpu in core}
    for node, cpus in wanted.items():
        for cpu in cpus:
            if cpu not in usable:
                raise NotPossible(
                    f"CPU {cpu} for node {node}",
                    "this machine does not have it, or this process may not use it",
                    f"choose among {', '.join(map(str, sorted(usable)))} in [lab] cpus",
                )
    return {node: tuple(cpus) for node, cpus in wanted.items()}


CpusValue = Annotated[
    Annotated[Literal["shared", "split"], Tag("word")] | Annotated[NodeCpus, Tag("table")],
    Discriminator(shape),
]


class LabTable(Table):
    """``[lab]``: nodes and links."""

    topology: ShapeWord = Shape.PAIR
    clients: NodeCount | None = None
    members: NodeCount | None = None
    paths: PathsValue | None = None
    link: LinkTable = LinkTable.model_construct()
    cpus: CpusValue = "shared"
    nat: NatValue | None = None
    block_udp: BlockValue = False
    overlay_mtu: Mtu | None = None
    underlay: VersionWord | None = None
