"""The keys for routers between nodes: ``nat`` and ``block_udp``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Discriminator, Field, Tag

from culvert.study.table import near, problem
from culvert.topology.nat import Nat

ROUTER_KEYS = ("nat", "block_udp")


def _kind(value: str) -> str:
    if value not in set(Nat):
        raise problem(f'"{value}" is not a kind of NAT', near(value, list(Nat)))
    return value


def _shape(value: object) -> str:
    if isinstance(value, Mapping):
        return "table"
    return "list" if isinstance(value, list | tuple) else "word"


Kind = Annotated[str, AfterValidator(_kind)]
Kinds = Annotated[tuple[Kind, ...], Field(strict=False, min_length=1, max_length=3)]
"""A node's own NAT first, then those of its provider (CGNAT)."""
Behind = Annotated[
    Annotated[Kind, Tag("word")] | Annotated[Kinds, Tag("list")], Discriminator(_shape)
]
NatValue = Annotated[
    Annotated[Kind, Tag("word")] | Annotated[dict[str, Behind], Tag("table")],
    Discriminator(_shape),
]
"""``nat = "symmetric"``, or ``nat = { a = "symmetric", b = ["full-cone", "symmetric"] }``."""
Names = Annotated[tuple[str, ...], Field(strict=False)]
BlockValue = bool | Names
"""For a routed lab true or false; for a mesh the names of members whose UDP is blocked."""


def by_node(
    value: str | Mapping[str, str | tuple[str, ...]] | None,
) -> Mapping[str, tuple[Nat, ...]]:
    """The kinds of NAT by the node that is behind them; a single word applies to node a."""
    table = {"a": value} if isinstance(value, str) else value or {}
    return {
        node: tuple(Nat(kind) for kind in ((kinds,) if isinstance(kinds, str) else kinds))
        for node, kinds in table.items()
    }
