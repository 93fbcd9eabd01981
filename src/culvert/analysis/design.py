"""The design of a run: how its trials were made and looked at, as far as it affects comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from culvert.decide.decision import Blocking
from culvert.plan.precision import MIN_BLOCKS, looks_of
from culvert.statistics.looks import ONCE, Looks
from culvert.statistics.serial import FEWEST
from culvert.study.blocks import BlocksTable, StopRule
from culvert.study.study import Study


@dataclass(frozen=True)
class Design:
    """``looks``: those of the rule that could end the run, for single figures and columns."""

    blocking: Blocking = Blocking.RANDOM
    looks: Looks = ONCE

    @property
    def paired(self) -> bool:
        """Whether trials of one block are compared with one another."""
        return self.blocking is not Blocking.NONE

    @property
    def cautious(self) -> bool:
        """Whether neighbouring values of a comparison may correlate, even if too few to show it."""
        return self.blocking is not Blocking.RANDOM

    @property
    def fewest(self) -> int:
        """The repetitions from which a comparison can show a difference."""
        return max(FEWEST, self.looks.silent)

    @classmethod
    def of(cls, content: Mapping[str, Any], *, imported: bool = False) -> Design:
        """From a study's canonical content; the default is blocks in random order."""
        if imported:
            return cls(Blocking.NONE)
        plan = content.get("plan")
        if not isinstance(plan, Mapping):
            return cls()
        blocking = Blocking.LISTED if plan.get("order") == "listed" else Blocking.RANDOM
        return cls(blocking, _looks(plan.get("blocks")))


def _looks(blocks: object) -> Looks:
    if not isinstance(blocks, Mapping) or not blocks.get("until"):
        return ONCE
    least, most = blocks.get("min"), blocks.get("max")
    return looks_of(
        rule=True,
        least=least if isinstance(least, int) else MIN_BLOCKS,
        most=most if isinstance(most, int) else None,
    )


def looks_at_claims(study: Study, alpha: float) -> Looks:
    """The share of ``alpha`` for each look.

    A plan that waits for claims, or for ranks, which follow from the same figures, looks after each
    block, from the first that can decide; other plans look once.
    """
    blocks = study.file.plan.blocks
    if not isinstance(blocks, BlocksTable) or blocks.until is None:
        return Looks(alpha)
    rule = StopRule.parse(blocks.until)
    if not (rule.claims or rule.ranks):
        return Looks(alpha)
    return Looks(alpha, max(FEWEST, blocks.min or FEWEST), blocks.max)
