"""A relation of the claim language as tests on a contrast of two sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from culvert.analysis.claims.cells import Series
from culvert.analysis.claims.verdict import ClaimEffect
from culvert.decide.contrast import (
    Contrast,
    more_repetitions,
    paired_contrast,
    unpaired_contrast,
)
from culvert.decide.decision import Pair
from culvert.statistics.trend import mann_kendall
from culvert.statistics.values import ratio_of
from culvert.study.claims.test import ClaimComparison, Relation

DRIFT = 0.01
"""A trend with a p-value of at most this is called a drift."""


@dataclass(frozen=True)
class Sides:
    """Both sides as values in order: paired by block, or independent, or against a constant.

    ``logarithmic``: the contrast is of logarithms, so a ratio. ``cautious``: neighbouring pairs may
    be alike (``paired_contrast``). ``decided``: the column that compares the two, whose contrast is
    used then.
    """

    left: tuple[float, ...]
    right: tuple[float, ...]
    paired: bool
    constant: bool
    logarithmic: bool
    cautious: bool = False
    decided: Pair | None = None

    @classmethod
    def of(
        cls,
        left: Series | float,
        right: Series | float,
        *,
        absolute: bool,
        blocked: bool = True,
        cautious: bool = False,
    ) -> Sides:
        """A float is a quantity. ``absolute`` requests differences even if ratios exist.

        ``blocked``: trials with the same block number were measured together.
        """
        if isinstance(left, float) or isinstance(right, float):
            n = max(1 if isinstance(side, float) else len(side) for side in (left, right))
            both = [
                (side,) * n if isinstance(side, float) else tuple(side.values())
                for side in (left, right)
            ]
            paired, constant = True, True
        else:
            common = [block for block in left if block in right]
            paired = blocked and len(common) * 2 >= max(len(left), len(right))
            constant = False
            both = [
                tuple(side[b] for b in common) if paired else tuple(side.values())
                for side in (left, right)
            ]
        above = all(value > 0 for side in both for value in side)
        # Against a constant, drift does not cancel: the trials are one series in time.
        alike = cautious or constant
        return cls(both[0], both[1], paired, constant, above and not absolute, alike)

    @property
    def n(self) -> int:
        """Pairs, or values of the shorter side."""
        return min(len(self.left), len(self.right))

    def contrast(self, factor: float = 1.0) -> Contrast | None:
        """left - factor x right, of logarithms if ``logarithmic``; None with too few values."""
        given = self.decided.contrast if self.decided is not None else None
        if given is not None and (self.logarithmic or factor == 1):
            return replace(given, estimate=given.estimate - math.log(factor))
        left, right = self._scaled(factor)
        if self.paired:
            differences = [a - b for a, b in zip(left, right, strict=True)]
            return paired_contrast(differences, cautious=self.cautious)
        return unpaired_contrast(right, left)

    def effect(self, level: float = 0.95) -> ClaimEffect | None:
        """As shown to readers, with the interval of that level."""
        contrast = self.contrast()
        if contrast is None:
            return None
        low, high = contrast.interval(level)
        if self.logarithmic:
            value = ratio_of(contrast.estimate)
            return ClaimEffect(value, ratio_of(low), ratio_of(high), ratio=True)
        return ClaimEffect(contrast.estimate, low, high, ratio=False)

    def drifts(self) -> bool:
        """Whether the values have a trend, so that more trials change the estimated quantity."""
        left, right = self._scaled(1.0)
        if self.paired:
            differences = [a - b for a, b in zip(left, right, strict=True)]
            return mann_kendall(differences).p_value <= DRIFT
        return any(mann_kendall(side).p_value <= DRIFT / 2 for side in (left, right))

    def _scaled(self, factor: float) -> tuple[Sequence[float], Sequence[float]]:
        if self.logarithmic:
            shift = math.log(factor)
            return [math.log(v) for v in self.left], [math.log(v) + shift for v in self.right]
        return self.left, [factor * value for value in self.right]


@dataclass(frozen=True)
class Tested:
    """p for and p against; ``more`` repetitions would decide, None if no number would."""

    p_supports: float
    p_contradicts: float
    more: int | None


def answered(comparison: ClaimComparison, pair: Pair) -> Tested | None:
    """The column's own answer; None if the comparison requests more than which one is above.

    Its p values are adjusted for all pairs of the column, and for the looks of a rule.
    """
    if comparison.by is not None or comparison.factor != 1:
        return None
    match comparison.relation:
        case Relation.MORE | Relation.AT_LEAST:
            supports = pair.above
        case Relation.LESS | Relation.AT_MOST:
            supports = not pair.above
        case _:
            return None
    if supports:
        return Tested(pair.p_value, 1.0, pair.more)
    return Tested(1.0, pair.p_value, pair.more)


def tested(comparison: ClaimComparison, sides: Sides, margin: float, alpha: float) -> Tested | None:
    """Test a comparison; None with too few values. ``margin``: of "no different from"."""
    match comparison.relation:
        case Relation.MORE | Relation.AT_LEAST:
            return _one_sided(comparison, sides, 1.0, alpha)
        case Relation.LESS | Relation.AT_MOST:
            return _one_sided(comparison, sides, -1.0, alpha)
        case Relation.WITHIN:
            return _within(sides, comparison.share, alpha)
        case Relation.SAME:
            return _no_different(sides, margin, alpha)


def _one_sided(
    comparison: ClaimComparison, sides: Sides, sign: float, alpha: float
) -> Tested | None:
    contrast = sides.contrast(comparison.factor)
    if contrast is None:
        return None
    bound = sign * comparison.by.value if comparison.by is not None else 0.0
    above, below = contrast.p_above(bound), contrast.p_below(bound)
    supports, contradicts = (above, below) if sign > 0 else (below, above)
    # Two-sided: if both are equal, at most alpha of the claims get a verdict.
    more = more_repetitions(contrast, abs(contrast.estimate - bound), alpha / 2)
    return Tested(min(1.0, 2 * supports), min(1.0, 2 * contradicts), more)


def _bounds(sides: Sides, share: float) -> tuple[float, float]:
    if sides.logarithmic:
        return math.log1p(-share), math.log1p(share)
    base = abs(sum(sides.right) / len(sides.right))
    return -share * base, share * base


def _within(sides: Sides, share: float, alpha: float) -> Tested | None:
    contrast = sides.contrast()
    if contrast is None:
        return None
    low, high = _bounds(sides, share)
    distance = min(abs(contrast.estimate - low), abs(high - contrast.estimate))
    return Tested(
        contrast.p_between(low, high),
        contrast.p_outside(low, high),
        more_repetitions(contrast, distance, alpha),
    )


def _no_different(sides: Sides, margin: float, alpha: float) -> Tested | None:
    """Supported by two one-sided tests within the margin, contradicted by a difference that is
    significantly outside it: a significant difference within it does not contradict."""
    within = _within(sides, margin, alpha)
    contrast = sides.contrast()
    if within is None or contrast is None:
        return None
    low, high = _bounds(sides, margin)
    return Tested(within.p_supports, contrast.p_outside(low, high), within.more)
