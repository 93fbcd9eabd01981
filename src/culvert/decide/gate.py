"""Whether a head is slower than its base: one primary figure, a covariate, a few looks.

The head and the base are measured in the same blocks of random order. The primary figure is tested
one-sided; the others follow in a fixed sequence, each only after the one before it is slower, so
the error rate is that of the first. A covariate that the builds do not affect, such as the CPU time
of the measuring program, takes out what the machine did inside a block (ANCOVA on block
differences).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from culvert.metrics import Better
from culvert.statistics.adjusted import adjusted_mean
from culvert.statistics.looks import levels_at
from culvert.statistics.serial import FEWEST
from culvert.statistics.values import Array, ratio_of

ALPHA = 0.05
"""How often an equal head is called slower at most, over all looks."""
POWER = 0.8
LOOKS_S = (45, 120, 300)
"""Seconds of measuring after which a gate may end, where its budget is longer."""


class Outcome(StrEnum):
    """What a gate says of a head, or of one of its figures."""

    SLOWER = "slower"
    NOT_SLOWER = "not shown to be slower"
    OPEN = "open until the next look"
    UNSURE = "a slowdown above the accepted one is not excluded"
    BROKEN = "no trial of the head counts"
    NO_BASE = "no trial of the base counts"
    TOO_FEW = f"fewer than {FEWEST} blocks with both"
    NOT_TESTED = "not tested: the figure before it is not slower"


@dataclass(frozen=True)
class Look:
    """One look at a run. ``planned``: after how much of it each look is, ascending, in seconds or
    blocks; ``number``: which of them this is, from 0.

    What a look may spend is fixed before the run by the planned times (Lan and DeMets, Biometrics
    45, 1989), so that no figure moves it.
    """

    planned: tuple[int, ...]
    number: int = 0

    @classmethod
    def of_budget(cls, budget_s: float) -> tuple[Look, ...]:
        """The looks of a run of so many seconds, the last one at its end."""
        early = tuple(one for one in LOOKS_S if one < budget_s)
        planned = (*early, math.ceil(budget_s))
        return tuple(cls(planned, number) for number in range(len(planned)))

    @property
    def last(self) -> bool:
        return self.number == len(self.planned) - 1

    @property
    def after(self) -> int:
        """How much of the run it is after."""
        return self.planned[self.number]

    def level(self, alpha: float) -> float:
        """What this look may spend, one-sided."""
        return levels_at(self.planned, 2 * alpha)[self.number] / 2


ONE_LOOK = Look((1,))
"""At the end of a run."""


@dataclass(frozen=True)
class Figure:
    """One figure of both builds, by block. ``covariate``: of the same trials, or empty."""

    name: str
    better: Better
    base: Array
    head: Array
    base_covariate: Array
    head_covariate: Array

    def slowdowns(self) -> tuple[Array, Array | None]:
        """Logarithms of the slowdown of each block that has both, and of the covariate's ratio.

        No covariate where it is missing or not positive.
        """
        known = (self.base > 0) & (self.head > 0)
        sign = -1.0 if self.better is Better.MORE else 1.0
        found = sign * np.log(self.head[known] / self.base[known])
        covariates = (self.base_covariate, self.head_covariate)
        if any(one.shape != self.base.shape for one in covariates):
            return found, None
        ours, theirs = self.head_covariate[known], self.base_covariate[known]
        if not ((ours > 0) & (theirs > 0)).all():
            return found, None
        return found, np.log(ours / theirs)


@dataclass(frozen=True)
class Judged:
    """The answer on one figure. Ratios: 1.05 is 5 % slower.

    ``slowdown`` is the estimate. ``bound``: no slowdown above it, with 95 % over all looks;
    ``least``: the slowdown that so many blocks find in 80 % of the runs. None without a test.
    """

    name: str
    outcome: Outcome
    n: int
    slowdown: float | None = None
    bound: float | None = None
    least: float | None = None
    p_value: float | None = None

    @property
    def fails(self) -> bool:
        """Whether a gate does not pass because of this figure."""
        return self.outcome in (Outcome.SLOWER, Outcome.BROKEN)

    @property
    def passes(self) -> bool:
        """Whether it is neither slower nor undecided."""
        return self.outcome is Outcome.NOT_SLOWER

    @property
    def ends(self) -> bool:
        """Whether a run ends with it at this look."""
        return self.fails or self.passes


def gate(
    figures: Sequence[Figure],
    look: Look = ONE_LOOK,
    *,
    margin: float = 0.0,
    alpha: float = ALPHA,
) -> tuple[Judged, ...]:
    """Judge a head at a look. ``figures``: the primary one first. ``margin``: a slowdown up to this
    share is accepted; with one above 0 a head passes only if no greater slowdown is left.

    The outcome of the gate is that of its first figure.
    """
    found: list[Judged] = []
    go_on = True
    for figure in figures:
        one = judged(figure, look, margin, alpha)
        if not go_on and one.bound is not None:
            one = Judged(one.name, Outcome.NOT_TESTED, one.n, one.slowdown, one.bound, one.least)
        go_on = go_on and one.outcome is Outcome.SLOWER
        found.append(one)
    return tuple(found)


def judged(
    figure: Figure, look: Look = ONE_LOOK, margin: float = 0.0, alpha: float = ALPHA
) -> Judged:
    """One figure alone, one-sided."""
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 - slow to import, seldom needed

    for build, none in ((figure.head, Outcome.BROKEN), (figure.base, Outcome.NO_BASE)):
        if not (build > 0).any():
            return Judged(figure.name, none, 0)
    slowdowns, covariate = figure.slowdowns()
    n = slowdowns.size
    if n < FEWEST:
        return Judged(figure.name, Outcome.TOO_FEW, n)
    estimate, se, df = adjusted_mean(slowdowns, covariate)
    level = look.level(alpha)
    if se == 0:
        # Nothing scatters: as if each block were one of two.
        p_value = 0.5**n if estimate > math.log1p(margin) else 1.0
        bound = least = ratio_of(estimate)
    else:
        p_value = float(stdtr(df, (math.log1p(margin) - estimate) / se))
        critical = float(stdtrit(df, 1 - level))
        bound = ratio_of(estimate + critical * se)
        least = ratio_of(math.log1p(margin) + (critical + float(stdtrit(df, POWER))) * se)
    if p_value <= level:
        outcome = Outcome.SLOWER
    elif bound <= 1 + margin or (look.last and not margin):
        outcome = Outcome.NOT_SLOWER
    else:
        outcome = Outcome.UNSURE if look.last else Outcome.OPEN
    adjusted = min(1.0, p_value * alpha / level)
    return Judged(figure.name, outcome, n, ratio_of(estimate), bound, least, adjusted)
