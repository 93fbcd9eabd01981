"""From a contrast to a word: faster, slower, same, cannot tell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from culvert.analysis.compare.contrast import Contrast
from culvert.analysis.compare.repetitions import more_repetitions
from culvert.metrics import Better


class Change(StrEnum):
    """What became of a metric from A to B."""

    SLOWER = "slower"
    """Worse: a regression."""
    FASTER = "faster"
    CHANGED = "changed"
    """Different, in a metric of which neither more nor less is better."""
    UNCLEAR = "cannot tell"
    SAME = "same"


@dataclass(frozen=True)
class Tolerance:
    """What is not worth talking about: ends of the difference, in the contrast's scale."""

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
        """Whether an estimate is within."""
        return self.low <= estimate <= self.high


@dataclass(frozen=True)
class Judgement:
    """The word, and why it cannot be told where it cannot; ``more`` repetitions would tell."""

    change: Change
    why: str = ""
    more: int | None = None


TOO_FEW = "fewer than five trials"
SCATTERS = "scatters too much"
BEYOND = "differs, perhaps by more than the tolerance"


def judge(
    contrast: Contrast | None,
    p_adjusted: float,
    tolerance: Tolerance,
    direction: Better,
    alpha: float,
) -> Judgement:
    """Same if equivalent within the tolerance (two one-sided tests at ``alpha``).

    Different if "no difference" is rejected at ``alpha`` by the adjusted p-value and the estimate
    is beyond the tolerance. Else it cannot be told.
    """
    if contrast is None:
        return Judgement(Change.UNCLEAR, TOO_FEW)
    estimate = contrast.estimate
    if (contrast.se == 0 and estimate == 0) or (
        contrast.p_between(tolerance.low, tolerance.high) <= alpha
    ):
        return Judgement(Change.SAME)
    if p_adjusted <= alpha and not tolerance.holds(estimate):
        return Judgement(_changed(estimate, direction))
    if tolerance.holds(estimate):
        distance = min(estimate - tolerance.low, tolerance.high - estimate)
        more = more_repetitions(contrast, distance, alpha)
    else:
        # What the comparisons beside it cost: Holm's factor.
        factor = p_adjusted / max(contrast.p_two_sided(), 1e-300)
        more = more_repetitions(contrast, abs(estimate), alpha / max(1.0, factor) / 2)
    return Judgement(Change.UNCLEAR, BEYOND if p_adjusted <= alpha else SCATTERS, more)


def _changed(estimate: float, direction: Better) -> Change:
    if direction is Better.NEITHER:
        return Change.CHANGED
    better = (estimate > 0) == (direction is Better.MORE)
    return Change.FASTER if better else Change.SLOWER
