"""From a contrast to a result: faster, slower, differs, same, cannot tell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from culvert.decide.contrast import Contrast, more_repetitions
from culvert.metrics import Better


class Change(StrEnum):
    """The change of a metric from A to B."""

    SLOWER = "slower"
    """Worse: a regression."""
    FASTER = "faster"
    CHANGED = "changed"
    """Different, in a metric without a better direction."""
    DIFFERS = "differs"
    """Different, and not shown to be by more than the tolerance."""
    UNCLEAR = "cannot tell"
    SAME = "same"


@dataclass(frozen=True)
class Tolerance:
    """The range of irrelevant differences, in the contrast's scale."""

    low: float
    high: float

    @classmethod
    def of_ratio(cls, share: float) -> Tolerance:
        """A ratio from 1 - share to 1 + share, as logarithms. ``share`` below 1."""
        return cls(math.log1p(-share), math.log1p(share))

    @classmethod
    def of_difference(cls, share: float, base: float) -> Tolerance:
        """A difference of up to that share of ``base``."""
        return cls(-share * abs(base), share * abs(base))

    def holds(self, estimate: float) -> bool:
        return self.low <= estimate <= self.high


@dataclass(frozen=True)
class Judgement:
    """The result, and why it is not clearer; ``more`` repetitions would decide."""

    change: Change
    why: str = ""
    more: int | None = None


TOO_FEW = "fewer than five trials"
TOO_FEW_RUNS = "fewer than three runs of it"
SCATTERS = "scatters too much"
NO_P_PASSES = "no p value can be small enough with so few blocks"
WITHIN = "by less than the tolerance"
BEYOND = "perhaps by less than the tolerance"


@dataclass(frozen=True)
class AdjustedPValues:
    """Adjusted p values of one comparison: that it differs at all, that it differs by more than the
    tolerance, that it is the same within it. ``cost``: the greatest factor of the adjustment.
    ``possible``: whether any data of so many repetitions could show a difference. ``column``:
    whether the column of one run shows a difference."""

    differs: float
    beyond: float
    same: float
    factor: float = 1.0
    """The p value of a difference was multiplied by it."""
    cost: float = 1.0
    possible: bool = True
    column: bool = False


NOTHING = AdjustedPValues(1.0, 1.0, 1.0)
"""For a comparison that could not be tested."""


def judge(
    contrast: Contrast | None,
    evidence: AdjustedPValues,
    tolerance: Tolerance,
    direction: Better,
    alpha: float,
) -> Judgement:
    """Faster or slower if a difference beyond the tolerance is significant.

    Else same, if equivalence within it is significant (two one-sided tests); else "differs" if "no
    difference" is rejected. For VPNs of one run "differs" comes before same: whether two differ
    has one answer, independent of the tolerance.
    """
    if contrast is None:
        return Judgement(Change.UNCLEAR, TOO_FEW)
    estimate = contrast.estimate
    constant = contrast.se == 0 and estimate == 0
    same = constant or evidence.same <= alpha
    differs = evidence.differs <= alpha and not constant
    if differs and evidence.beyond <= alpha:
        return Judgement(_changed(estimate, direction))
    if same and not (differs and evidence.column):
        return Judgement(Change.SAME)
    within = tolerance.holds(estimate)
    near = min(abs(estimate - tolerance.low), abs(tolerance.high - estimate))
    level = alpha / max(1.0, evidence.cost)
    if differs:
        if same:
            return Judgement(Change.DIFFERS, WITHIN)
        return Judgement(Change.DIFFERS, BEYOND, more_repetitions(contrast, near, level))
    distance = near if within else abs(estimate)
    more = more_repetitions(contrast, distance, level if within else level / 2)
    return Judgement(Change.UNCLEAR, SCATTERS if evidence.possible else NO_P_PASSES, more)


def _changed(estimate: float, direction: Better) -> Change:
    if direction is Better.NEITHER:
        return Change.CHANGED
    better = (estimate > 0) == (direction is Better.MORE)
    return Change.FASTER if better else Change.SLOWER
