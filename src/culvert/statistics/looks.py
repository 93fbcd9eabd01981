"""Repeated looks: the level of each look, so that all together have the error rate alpha."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from itertools import count, pairwise

import numpy as np

from culvert.statistics.order_statistics import widest

_POINTS = 301
"""Of the sum's distribution; with twice as many no level changes in its third digit."""

MOST_LOOKS = 200
"""For a plan without an end; later looks take what the last of these takes."""


def levels(first: int, last: int, alpha: float) -> tuple[float, ...]:
    """Two-sided levels of looks after ``first``, ``first`` + 1, ..., ``last`` repetitions."""
    return levels_at(tuple(range(first, last + 1)), alpha)


@cache
def levels_at(looks: tuple[int, ...], alpha: float) -> tuple[float, ...]:
    """Two-sided levels of looks after so many repetitions each, ascending.

    Alpha is spent as alpha ln(1 + (e - 1) n / last) (Lan and DeMets, Biometrika 70, 1983: the shape
    of Pocock's test): early looks get as much as late ones. The levels follow by integrating the
    sum of independent normal values over the region that no look has ended (Armitage, McPherson and
    Rowe, J. R. Statist. Soc. A 132, 1969). For t tests they are used as nominal levels (Jennison
    and Turnbull, "Group Sequential Methods", 2000, section 3.8).
    """
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - slow to import, seldom needed

    first, last = looks[0], looks[-1]
    spent = _spent(first, last, alpha)
    bound = -float(ndtri(spent / 2))
    found = [2 * float(ndtr(-bound))]
    reach = bound * math.sqrt(first)
    sums = np.linspace(-reach, reach, _POINTS)
    density = np.exp(-(sums**2) / (2 * first)) / math.sqrt(2 * math.pi * first)
    for before, n in pairwise(looks):
        weights = np.full(_POINTS, sums[1] - sums[0])
        weights[[0, -1]] /= 2
        mass = density * weights
        budget = _spent(n, last, alpha) - spent
        spent += budget
        sd = math.sqrt(n - before)
        low, high = 0.0, 40.0
        while high - low > 1e-9:
            bound = (low + high) / 2
            reach = bound * math.sqrt(n)
            beyond = ndtr((sums - reach) / sd) + ndtr((-sums - reach) / sd)
            crossed = float(mass @ beyond)
            low, high = (bound, high) if crossed > budget else (low, bound)
        found.append(2 * float(ndtr(-bound)))
        ahead = np.linspace(-reach, reach, _POINTS)
        steps = ahead[:, None] - sums[None, :]
        density = np.exp(-((steps / sd) ** 2) / 2) @ mass / (sd * math.sqrt(2 * math.pi))
        sums = ahead
    return tuple(found)


def _spent(n: int, last: int, alpha: float) -> float:
    # A single look has the whole level.
    return alpha * math.log1p((math.e - 1) * n / last)


@dataclass(frozen=True)
class Looks:
    """The looks of a rule at the data, and the level of each look.

    ``first`` 0: nothing looks before the end, which takes all of it. ``last`` None: the number of
    repetitions is not limited.
    """

    alpha: float = 0.05
    first: int = 0
    last: int | None = None
    silent: int = 0
    """Below so many repetitions a run may end, and nothing is decided then."""

    def level(self, n: int) -> float:
        """What a two-sided p value over n repetitions is compared with; 0 where none may pass.

        A cell with trials that do not count has fewer than the look's number, at the first too.
        """
        if not self.first:
            return self.alpha
        if n < self.silent:
            return 0.0
        last = max(self.first, min(self.last or MOST_LOOKS, MOST_LOOKS))
        return levels(self.first, last, self.alpha)[min(max(n, self.first), last) - self.first]

    def fewest(self) -> int:
        """The least number of repetitions whose range covers the median as often as stated: without
        a rule 6."""
        return next(n for n in count(2) if 1 - widest(n) <= self.level(n))

    def reaching(self) -> Looks:
        """The looks without those that come too early for an interval of order statistics.

        Of n repetitions none covers more than 1 - 2 * 0.5**n: what earlier looks would take goes to
        later ones.
        """
        if not self.first:
            return self
        last = max(self.first, min(self.last or MOST_LOOKS, MOST_LOOKS))
        possible = (
            n for n in range(self.first, last + 1) if 1 - widest(n) <= _spent(n, last, self.alpha)
        )
        first = next(possible, last)
        return replace(self, first=first, silent=first if first > self.first else 0)

    def adjusted(self, p_value: float, n: int) -> float:
        """The p value as if it were compared with ``alpha``."""
        level = self.level(n)
        return min(1.0, p_value * self.alpha / level) if level else 1.0


ONCE = Looks()
"""The looks of a plan with a fixed number of repetitions."""
