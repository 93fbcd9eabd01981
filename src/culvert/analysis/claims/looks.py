"""How small a p value must be, by how often the plan looks at it."""

from __future__ import annotations

from dataclasses import dataclass

from culvert.statistics.looks import levels
from culvert.statistics.serial import FEWEST
from culvert.study.blocks import BlocksTable
from culvert.study.rule import StopRule
from culvert.study.study import Study

MOST_LOOKS = 200
"""For a plan without ``max``; later looks take what the last of these takes."""


@dataclass(frozen=True)
class Looks:
    """``alpha`` is what one claim may take over all looks. Without looks: at once."""

    alpha: float
    first: int = 0
    last: int = 0

    @classmethod
    def of(cls, study: Study, alpha: float) -> Looks:
        """A plan that waits for claims looks after each block from the first that can decide."""
        blocks = study.file.plan.blocks
        if not isinstance(blocks, BlocksTable) or blocks.until is None:
            return cls(alpha)
        if not StopRule.parse(blocks.until).claims:
            return cls(alpha)
        first = max(FEWEST, blocks.min or FEWEST)
        return cls(alpha, first, max(first, min(blocks.max or MOST_LOOKS, MOST_LOOKS)))

    def level(self, n: int) -> float:
        """What a p value over n repetitions is compared with."""
        if not self.first:
            return self.alpha
        return levels(self.first, self.last, self.alpha)[
            min(max(n, self.first), self.last) - self.first
        ]

    def adjusted(self, p_value: float, n: int) -> float:
        """The p value as if it were compared with ``alpha``."""
        return min(1.0, p_value * self.alpha / self.level(n))
