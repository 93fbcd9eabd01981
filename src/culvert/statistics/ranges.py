"""Studentised ranges, and closed tests of all pairs by them.

Two contestants differ if "all are equal" is rejected for every set of contestants with both in it.
It is rejected if one of the set's pairs is further apart than the range of so many equal ones may
be. A set of s among k is tested at the level 1 - (1 - alpha)**(s/k), of k - 1 and k at alpha (Ryan
1960, Einot and Gabriel 1975, Welsch 1977; "REGWQ"). Groups of equal contestants have at most k
members in all, so the probability of any false difference is at most alpha, whatever is equal.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from culvert.statistics.values import Array

_SCALES = 64
"""Points of the scale: at most 0.8 of its standard deviation apart."""
_PLACES = np.arange(-5.0, 9.0, 0.5)
"""Of the greatest value, in standard deviations."""
_MANY = 1e6
"""Degrees of freedom of a variance that is known."""


def range_p_values(t: Array, df: Array, most: int) -> Array:
    """P values of t statistics as ranges of 3 to ``most`` means, a row for each number.

    That the greatest |difference| of s equal means, in its standard errors, is above t: the range
    divided by the root of 2. Both integrals by the trapezoidal rule, which converges exponentially
    for such functions.
    """
    from scipy.special import ndtr  # noqa: PLC0415 - slow to import, seldom needed

    sd = 1 / np.sqrt(2 * df)
    low, high = -(30 / df + 8 * sd), 8 * sd
    logs = low + (high - low) * np.linspace(0, 1, _SCALES)[:, None]
    scales = np.exp(df * (logs - np.expm1(2 * logs) / 2))
    scales /= scales.sum(axis=0)
    width = (np.exp(logs) * t * np.sqrt(2))[..., None]
    # The greatest of s is at a place, and not all others are within the width below it.
    below = ndtr(_PLACES)
    far = ndtr(_PLACES - width) / below
    density = np.exp(-(_PLACES**2) / 2) / np.sqrt(2 * np.pi) * (_PLACES[1] - _PLACES[0])
    beyond = far.copy()
    found = np.empty((max(0, most - 2), t.size))
    for others in range(2, most):
        beyond += far * (1 - beyond)
        weights = (others + 1) * density * below**others
        found[others - 2] = (scales * (beyond @ weights)).sum(axis=0)
    return np.minimum(1.0, found)


@cache
def level_of_pair(alpha: float, k: int) -> float:
    """The two-sided level of a single pair whose range of ``k`` means has the level ``alpha``, at
    many degrees of freedom: what it takes to differ whatever the other pairs are."""
    if k == 2:
        return alpha
    from scipy.special import ndtr  # noqa: PLC0415

    low, high = 0.0, 12.0
    while high - low > 1e-6:
        t = (low + high) / 2
        (p_value,) = range_p_values(np.array([t]), np.array([_MANY]), k)[-1]
        low, high = (t, high) if p_value > alpha else (low, t)
    return 2 * float(ndtr(-high))


def closed(p_values: Array) -> Array:
    """Adjusted p values of all pairs (k, k).

    ``p_values`` (k - 1, k, k), symmetric: of each pair as the range of 2, 3, ... k contestants. 1
    where a pair was not tested, 0 where it is none to test: its two have no set in common.
    """
    k = p_values.shape[1]
    found = np.zeros((k, k))
    for s, own in enumerate(p_values, start=2):
        least = _of_sets(own, s)
        if s < k - 1:
            with np.errstate(divide="ignore"):
                least = -np.expm1(k / s * np.log1p(-least))
        found = np.maximum(found, least)
    return found


def _of_sets(p_values: Array, s: int) -> Array:
    """For each pair the greatest p value of a set of ``s`` with it; that of a set is its least one.

    A set of s in which all pairs have at least p gives each of its pairs s - 2 triangles with at
    least p: p values without so many triangles are lowered until all have them (a truss of the
    graph). Where all standard errors are equal, contestants are points of a line, and the greatest
    set of a truss is one: this is exact (the longest pair left has its triangles inside it). Else
    it is at least the p value sought, so no error rate suffers. Sets are not enumerated.
    """
    k = p_values.shape[0]
    found = p_values.copy()
    np.fill_diagonal(found, -1.0)
    if s == 2:
        return found.clip(0.0)
    for _ in range(2 * k):  # to stop early is to stay above
        triangles = np.minimum(found[:, None, :], found[None, :, :])
        kept = np.partition(triangles, k - s + 2, axis=2)[..., k - s + 2]
        lower = np.minimum(found, kept)
        if (lower == found).all():
            break
        found = lower
    return found.clip(0.0)
