"""``[plan]``: the order and number of repetitions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from culvert.study.names import shape
from culvert.study.rule import StopRule
from culvert.study.table import Table, problem
from culvert.units import DurationS

MOST_BLOCKS = 1_000_000


def _rule(value: str) -> str:
    try:
        StopRule.parse(value)
    except ValueError as error:
        raise problem(
            str(error), 'write it as "ci <= 2%", "claims decided", or both joined by "and" or "or"'
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
