"""``nat_pairs``: a condition that stands for one condition for each pair of kinds of access.

``nat_pairs = "all"`` pairs all kinds, an array those that it names. Pairs are unordered: the more
open kind is in front of the source of the first path, the more closed one in front of its target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from culvert.study.table import near, problem
from culvert.topology.access import Access
from culvert.topology.graph import Path

if TYPE_CHECKING:
    from culvert.study.conditions.condition import ConditionTable


def _kind(value: str) -> str:
    if value not in set(Access):
        raise problem(f'"{value}" is not a kind of access', near(value, list(Access)))
    return value


AccessKind = Annotated[str, AfterValidator(_kind)]
NatPairs = Annotated[
    Annotated[Literal["all"], Tag("word")]
    | Annotated[tuple[AccessKind, ...], Field(strict=False, min_length=1), Tag("list")],
    Discriminator(lambda value: "word" if isinstance(value, str) else "list"),
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
                "nat": {
                    name: tuple(map(str, kind.nats)) for name, kind in ends.items() if kind.nats
                },
                "block_udp": tuple(name for name, kind in ends.items() if kind.blocks_udp),
            }
        )


def _kinds(value: str | Sequence[str]) -> list[Access]:
    """In the order of Access, each once."""
    return [kind for kind in Access if value == "all" or kind in value]
