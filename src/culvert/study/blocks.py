"""``[plan]``: the order and number of repetitions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from culvert.study.table import Table, problem, shape
from culvert.units import DurationS, QuantityError, format_fraction, parse_fraction

_INTERVAL = re.compile(r"ci\s*<=\s*(.+)")
_DECIDED = re.compile(r"(claims|ranks)\s+decided")
_JOINED = re.compile(r"\s+(and|or)\s+")


@dataclass(frozen=True)
class StopRule:
    """``half_width`` is relative to the median: 0.02 for +-2 %; None if not part of the rule.
    ``claims`` and ``ranks`` require that these are decided. ``every``: all parts are required, not
    one of them. Its evaluation: plan/stopping.py."""

    half_width: float | None = None
    claims: bool = False
    ranks: bool = False
    every: bool = False

    @classmethod
    def parse(cls, text: str) -> StopRule:
        """The rule from "ci <= 2%", "claims decided", "ranks decided", or several of them that are
        all joined by "and" or all by "or".

        Raises ValueError with the reason.
        """
        words = _JOINED.split(text.strip())
        joints = set(words[1::2])
        found: dict[str, float | bool] = {}
        for part in words[::2]:
            name, value = _part(part, text)
            if name in found or len(joints) > 1:
                raise ValueError(f'"{text}" is not a stopping rule')
            found[name] = value
        return cls(**found, every="and" in joints)  # type: ignore[arg-type]

    def __str__(self) -> str:
        words = [] if self.half_width is None else [f"ci <= {format_fraction(self.half_width)}"]
        words += ["claims decided"] if self.claims else []
        words += ["ranks decided"] if self.ranks else []
        return (" and " if self.every else " or ").join(words)


def _part(part: str, text: str) -> tuple[str, float | bool]:
    """The field of the rule that this part sets, and its value."""
    if decided := _DECIDED.fullmatch(part):
        return decided[1], True
    found = _INTERVAL.fullmatch(part)
    if found is None:
        raise ValueError(f'"{text}" is not a stopping rule')
    try:
        half_width = parse_fraction(found[1])
    except QuantityError as error:
        raise ValueError(error.why) from error
    if half_width == 0:
        raise ValueError("an interval cannot be as narrow as 0%")
    return "half_width", half_width


MOST_BLOCKS = 1_000_000


def _rule(value: str) -> str:
    try:
        StopRule.parse(value)
    except ValueError as error:
        raise problem(
            str(error),
            'write it as "ci <= 2%", "claims decided", "ranks decided", or join them: all by "and" '
            'or all by "or"',
        ) from None
    return value


class BlocksTable(Table):
    """``blocks`` as a table: repeat until the rule holds, at most ``max`` times, within ``budget``.

    ``stop``: whether all cells stop together or each by itself.
    """

    min: int | None = Field(None, ge=1, le=MOST_BLOCKS)
    max: int | None = Field(None, ge=1, le=MOST_BLOCKS)
    until: Annotated[str, AfterValidator(_rule)] | None = None
    stop: Literal["together", "each"] = "together"
    budget_s: Annotated[DurationS, Field(gt=0)] | None = Field(None, alias="budget")

    @model_validator(mode="after")
    def _ends(self) -> BlocksTable:
        if self.max is None and self.budget_s is None:
            raise problem(
                "neither max nor budget limits the run",
                'add max, as in max = 30, or budget = "20min"',
                ["max"],
            )
        if self.stop == "each" and self.until is None:
            raise problem('stop = "each" needs a stopping rule', 'add until = "ci <= 2%"', ["stop"])
        if self.min is not None and self.max is not None and self.min > self.max:
            raise problem(
                f"min {self.min} is more than max {self.max}", "swap or correct them", ["min"]
            )
        return self


Blocks = Annotated[
    Annotated[Annotated[int, Field(ge=1, le=MOST_BLOCKS)], Tag("word")]
    | Annotated[BlocksTable, Tag("table")],
    Discriminator(shape),
]
"""The number of repetitions: a number, or a table with a stopping rule."""


class PlanTable(Table):
    """``[plan]``: the order and number of repetitions."""

    order: Literal["random", "listed"] = "random"
    seed: int = Field(1, ge=0, lt=2**63)
    blocks: Blocks = 7
    pause_s: DurationS = Field(0.0, alias="pause")
    warmup: int = Field(0, ge=0, le=MOST_BLOCKS)
