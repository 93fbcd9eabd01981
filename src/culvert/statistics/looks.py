"""Looking more than once: what each look may take so that all together take alpha."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

_POINTS = 301
"""Of the sum's distribution; with twice as many no level changes in its third digit."""


@cache
def levels(first: int, last: int, alpha: float) -> tuple[float, ...]:
    """Two-sided levels of looks after ``first``, ``first`` + 1, ..., ``last`` repetitions.

    Alpha is spent as alpha ln(1 + (e - 1) n / last) (Lan and DeMets, Biometrika 70, 1983: the shape
    of Pocock's test): early looks get as much as late ones. The levels follow by integrating the
    sum of independent normal values over the region that no look has ended (Armitage, McPherson and
    Rowe, J. R. Statist. Soc. A 132, 1969). For t tests they are used as nominal levels (Jennison
    and Turnbull, "Group Sequential Methods", 2000, section 3.8). Raises ValueError unless
    0 < first <= last.
    """
    if not 0 < first <= last:
        raise ValueError("the first look is after at least one repetition and before the last")
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - slow to import, seldom needed

    spent = _spent(first, last, alpha)
    bound = -float(ndtri(spent / 2))
    found = [2 * float(ndtr(-bound))]
    reach = bound * math.sqrt(first)
    sums = np.linspace(-reach, reach, _POINTS)
    density = np.exp(-(sums**2) / (2 * first)) / math.sqrt(2 * math.pi * first)
    for n in range(first + 1, last + 1):
        weights = np.full(_POINTS, sums[1] - sums[0])
        weights[[0, -1]] /= 2
        mass = density * weights
        budget = _spent(n, last, alpha) - spent
        spent += budget
        low, high = 0.0, 40.0
        while high - low > 1e-9:
            bound = (low + high) / 2
            reach = bound * math.sqrt(n)
            crossed = float(mass @ (ndtr(sums - reach) + ndtr(-sums - reach)))
            low, high = (bound, high) if crossed > budget else (low, bound)
        found.append(2 * float(ndtr(-bound)))
        ahead = np.linspace(-reach, reach, _POINTS)
        steps = ahead[:, None] - sums[None, :]
        density = np.exp(-(steps**2) / 2) @ mass / math.sqrt(2 * math.pi)
        sums = ahead
    return tuple(found)


def _spent(n: int, last: int, alpha: float) -> float:
    # The last look takes all of it, were it the only one.
    return alpha * math.log1p((math.e - 1) * n / last)
