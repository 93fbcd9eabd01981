"""Which commit of a history changed a figure: a search with noisy measurements.

One commit changes the figure, by an unknown amount, and all later ones have the change. A
measurement of a commit is a difference from the good one, taken in the same block: its mean is 0
before the change and the unknown shift from it on, and its variance is unknown too. With a flat
prior for the shift and a prior 1 / sigma^2 for the variance, both integrate out (Box and Tiao,
"Bayesian Inference in Statistical Analysis", 1973, section 2): of N differences, n of them at or
after commit i, with the residual sum of squares S around 0 and around their mean,

    P(i is the first changed commit | differences)  ~  n^(-1/2)  S^(-(N - 1) / 2)

The next measurement is at the posterior's median, which halves it (Waeber, Frazier and Henderson,
"Bisection search with noisy responses", SIAM J. Control Optim. 51, 2013). Every earlier difference
counts for every decision, so no decision has to be made with certainty before the next.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from culvert.statistics.adjusted import adjusted_mean, varies
from culvert.statistics.values import Array

LOOKS = (4, 6, 9, 13, 20, 30, 45, 70)
"""Numbers of differences between the two ends after which they are tested."""


@dataclass(frozen=True)
class Difference:
    """Of one block: the logarithm of a commit's figure over that of the good commit. ``commit``
    counts from 1, the first after the good one. ``beside`` is that of the covariate, if it has
    one."""

    commit: int
    value: float
    beside: float | None = None


def series(seen: Sequence[Difference]) -> tuple[Array, Array | None]:
    """The differences, and those of their covariate if all have one."""
    beside = [one.beside for one in seen if one.beside is not None]
    values = np.array([one.value for one in seen])
    return values, np.array(beside) if len(beside) == len(seen) else None


class Ends(Enum):
    """Whether the bad commit has the change."""

    SHOWN = "it has"
    REFUTED = "it has not"
    OPEN = "more differences are needed"


def ends(seen: Sequence[Difference], change: float, alpha: float) -> Ends:
    """Test the differences of the bad commit: against no change, and against the claimed one.

    ``seen`` are all of it so far, in their order; ``change`` is the claimed logarithm of the ratio.
    Each answer is wrong with a probability of at most alpha, over all looks (Bonferroni); what is
    not shown at the last look is refuted.
    """
    for look in LOOKS:
        if look > len(seen):
            return Ends.OPEN
        values, beside = series(seen[:look])
        found = _look(values * np.sign(change), beside, abs(change), alpha / len(LOOKS))
        if found is not Ends.OPEN:
            return found
    return Ends.REFUTED


def _look(towards: Array, beside: Array | None, change: float, level: float) -> Ends:
    from scipy.special import stdtr  # noqa: PLC0415 - slow to import, seldom needed

    mean, se, df = adjusted_mean(towards, beside)

    def p_above(distance: float) -> float:
        """Student's t test, one-sided; equal values need no test."""
        return float(stdtr(df, -distance / se)) if se else float(distance <= 0)

    if p_above(mean) <= level:
        return Ends.SHOWN
    return Ends.REFUTED if p_above(change - mean) <= level else Ends.OPEN


def posterior(commits: int, seen: Sequence[Difference]) -> Array:
    """The probability of each commit, from the first after the good one to the bad one, that it is
    the first with the change. Differences of the bad commit are among ``seen``."""
    positions = np.array([one.commit for one in seen])
    values, beside = series(seen)
    first = np.arange(1, commits + 1)
    changed = (positions[None, :] >= first[:, None]).astype(np.float64)
    df = len(values) - 1
    if beside is not None and varies(beside):
        # With a flat prior its slope integrates out too: what is left of both, without it.
        along = beside / np.sqrt(beside @ beside)
        values = values - (values @ along) * along
        changed = changed - np.outer(changed @ along, along)
        df -= 1
    counts = np.maximum((changed**2).sum(axis=1), 1e-12)
    sums = changed @ values
    residual = np.maximum((values**2).sum() - sums**2 / counts, 1e-12 * (values**2).sum() + 1e-300)
    logarithm = -0.5 * np.log(counts) - 0.5 * df * np.log(residual)
    weights = np.exp(logarithm - logarithm.max())
    found: Array = weights / weights.sum()
    return found


@dataclass(frozen=True)
class Suspects:
    """Commits that no measurement can tell apart, with the probability that one of them changed the
    figure: one commit, or several where all but the last cannot be measured."""

    commits: tuple[int, ...]
    probability: float


def suspects(probabilities: Array, unmeasurable: Collection[int] = ()) -> list[Suspects]:
    """The commits by what can be told apart, the most probable first."""
    found: list[Suspects] = []
    group: list[int] = []
    for commit in range(1, len(probabilities) + 1):
        group.append(commit)
        if commit not in unmeasurable:
            share = float(sum(probabilities[one - 1] for one in group))
            found.append(Suspects(tuple(group), share))
            group = []
    return sorted(found, key=lambda one: -one.probability)


def next_commit(probabilities: Array, unmeasurable: Collection[int] = ()) -> int | None:
    """The commit to measure next: the measurable one that is nearest the posterior's median.

    None if no commit before the bad one can be measured.
    """
    before = np.cumsum(probabilities)[:-1]
    order = np.argsort(np.abs(before - 0.5), kind="stable") + 1
    return next((int(one) for one in order if one not in unmeasurable), None)


def credible(found: Sequence[Suspects], level: float) -> list[int]:
    """The fewest commits that hold the changed one with that probability, in their order."""
    kept: list[int] = []
    total = 0.0
    for one in found:
        kept += one.commits
        total += one.probability
        if total >= level:
            break
    return sorted(kept)
