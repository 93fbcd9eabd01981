"""A comparison that is the only one: nothing is adjusted."""

from __future__ import annotations

from culvert.analysis.compare.verdict import AdjustedPValues, Judgement, Tolerance, judge
from culvert.decide.contrast import Contrast
from culvert.metrics import Better


def judge_single(
    contrast: Contrast, tolerance: Tolerance, direction: Better, alpha: float
) -> Judgement:
    low, high = tolerance.low, tolerance.high
    evidence = AdjustedPValues(
        contrast.p_two_sided(), contrast.p_outside(low, high), contrast.p_between(low, high)
    )
    return judge(contrast, evidence, tolerance, direction, alpha)
