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
from culvert.study.conditions.nat import NatValue
from culvert.study.names import Mtu, shape
from culvert.study.table import Table
from culvert.topology.link.spec import LinkKind
from culvert.topology.spec import Topology
from culvert.units import RateBps

CpuList = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False, min_length=1)]


class LinkTable(Table):
    """``[lab] link``: the underlay where a condition does not say otherwise."""

    kind: LinkKind = "veth"
    rate_bps: Annotated[RateBps, Field(gt=0)] | None = Field(None, alias="rate")
    mtu: Mtu = 1500
    offloads: bool = False


class NodeCpus(Table):
    """``[lab] cpus`` as a table: the CPUs that the processes of each node may use."""

    a: CpuList | None = None
    b: CpuList | None = None
    router: CpuList | None = None

    def checked(self, cores: Sequence[tuple[int, ...]]) -> Mapping[str, tuple[int, ...]]:
        """CPUs by node. Raises NotPossible for a CPU that is not among ``cores``."""
        usable = {cpu for core in cores for cpu in core}
        chosen = {"a": self.a, "b": self.b, "router": self.router}
        given = {node: tuple(cpus) for node, cpus in chosen.items() if cpus is not None}
        for node, cpus in given.items():
            for cpu in cpus:
                if cpu not in usable:
                    raise NotPossible(
                        f"CPU {cpu} for node {node}",
                        "this machine does not have it or does not let us use it",
                        f"choose among {', '.join(map(str, sorted(usable)))} in [lab] cpus",
                    )
        return given


CpusValue = Annotated[
    Annotated[Literal["shared", "split"], Tag("word")] | Annotated[NodeCpus, Tag("table")],
    Discriminator(shape),
]


class LabTable(Table):
    """``[lab]``: nodes and links."""

    topology: Topology = "pair"
    link: LinkTable = LinkTable.model_construct()
    cpus: CpusValue = "shared"
    nat: NatValue | None = None
    block_udp: bool = False
