"""The keys for routers between nodes: ``nat``, ``block_udp`` and ``nat_pairs``.

``nat_pairs`` is a condition that stands for one condition for each pair of kinds of access:
``"all"`` pairs all kinds, an array those that it names. Pairs are unordered: the more open kind is
in front of the source of the first path, the more closed one in front of its target.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Discriminator, Field, Tag

from culvert.topology.graph import Path
from culvert.topology.nat import Access, Nat

if TYPE_CHECKING:
    from culvert.study.conditions.condition import ConditionTable


ROUTER_KEYS = ("nat", "block_udp")


def _shape(value: object) -> str:
    if isinstance(value, Mapping):
        return "table"
    return "list" if isinstance(value, list | tuple) else "word"


Kind = Annotated[Nat, Field(strict=False)]
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
    value: Nat | Mapping[str, Nat | tuple[Nat, ...]] | None,
) -> Mapping[str, tuple[Nat, ...]]:
    """The kinds of NAT by the node that is behind them; a single word applies to node a."""
    table = {"a": value} if isinstance(value, Nat) else value or {}
    return {node: (kinds,) if isinstance(kinds, Nat) else kinds for node, kinds in table.items()}


NatPairs = Annotated[
    Annotated[Literal["all"], Tag("word")]
    | Annotated[
        tuple[Annotated[Access, Field(strict=False)], ...],
        Field(strict=False, min_length=1),
        Tag("list"),
    ],
    Discriminator(_shape),
]


def paired(condition: ConditionTable, path: Path) -> Iterator[ConditionTable]:
    """The conditions that it stands for, named ``NAME.KIND.KIND``; itself without ``nat_pairs``."""
    if condition.nat_pairs is None:
        yield condition
        return
    for left, right in combinations_with_replacement(_kinds(condition.nat_pairs), 2):
        ends = {path.source: left, path.target: right}
        yield condition.model_copy(
            update={
                "name": f"{condition.name}.{left}.{right}",
                "nat_pairs": None,
                "nat": {name: kind.nats for name, kind in ends.items() if kind.nats},
                "block_udp": tuple(name for name, kind in ends.items() if kind.blocks_udp),
            }
        )


def _kinds(value: Literal["all"] | Sequence[Access]) -> list[Access]:
    """In the order of Access, each once."""
    return [kind for kind in Access if value == "all" or kind in value]
