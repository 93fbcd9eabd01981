"""The keys about the router of a routed lab: ``nat`` and ``block_udp``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Discriminator, Tag, model_validator

from culvert.study.names import shape
from culvert.study.table import Table, near, problem
from culvert.topology.nat import Nat
from culvert.topology.spec import Topology

ROUTER_KEYS = ("nat", "block_udp")


def _kind(value: str) -> str:
    if value not in set(Nat):
        raise problem(f'"{value}" is not a kind of NAT', near(value, list(Nat)))
    return value


Kind = Annotated[str, AfterValidator(_kind)]


class NatTable(Table):
    """``nat = { a = "symmetric" }``: a node and its kind."""

    a: Kind | None = None
    b: Kind | None = None

    @model_validator(mode="after")
    def _one_side(self) -> NatTable:
        if (self.a is None) == (self.b is None):
            raise problem("the router translates for one node", "name a or b")
        return self


NatValue = Annotated[
    Annotated[Kind, Tag("word")] | Annotated[NatTable, Tag("table")], Discriminator(shape)
]


def by_node(value: str | NatTable | None) -> Mapping[str, Nat]:
    """The kind of NAT by the node that is behind it; a word means node a."""
    table = value if isinstance(value, NatTable) else NatTable(a=value) if value else None
    return {node: Nat(kind) for node, kind in table if kind is not None} if table else {}


def refuse_without_router(topology: Topology, table: BaseModel, here: Sequence[str | int]) -> None:
    """Raise for the first key of the table that needs a router where there is none."""
    if topology == "routed":
        return
    for key in ROUTER_KEYS:
        if getattr(table, key):
            raise problem(
                f'"{key}" needs a router', 'write topology = "routed" in [lab]', [*here, key]
            )
