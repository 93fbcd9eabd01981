"""The level for a claim's p value, by the number of looks of the plan."""

from __future__ import annotations

from culvert.statistics.looks import Looks
from culvert.statistics.serial import FEWEST
from culvert.study.blocks import BlocksTable
from culvert.study.rule import StopRule
from culvert.study.study import Study


def looks_at_claims(study: Study, alpha: float) -> Looks:
    """The share of ``alpha`` for each look.

    A plan that waits for claims looks after each block, from the first that can decide; other
    plans look once.
    """
    blocks = study.file.plan.blocks
    if not isinstance(blocks, BlocksTable) or blocks.until is None:
        return Looks(alpha)
    if not StopRule.parse(blocks.until).claims:
        return Looks(alpha)
    return Looks(alpha, max(FEWEST, blocks.min or FEWEST), blocks.max)
