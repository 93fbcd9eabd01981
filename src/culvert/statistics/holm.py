"""Holm's correction for many tests (Scandinavian Journal of Statistics 6, 1979)."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values in the order given: at most alpha where the family-wise test rejects."""
    return [min(1.0, one) for one in _raised(p_values)]


def factors(p_values: Sequence[float]) -> list[float]:
    """By what each p value is multiplied, at least 1."""
    many = float(len(p_values))
    both = zip(p_values, _raised(p_values), strict=True)
    return [max(1.0, raised / own) if own else many for own, raised in both]


def _raised(p_values: Sequence[float]) -> list[float]:
    """The k-th smallest of m is multiplied by m - k + 1; none falls below the one before it."""
    found = [0.0] * len(p_values)
    floor = 0.0
    ascending = sorted(range(len(p_values)), key=lambda index: p_values[index])
    for done, index in enumerate(ascending):
        floor = max(floor, p_values[index] * (len(p_values) - done))
        found[index] = floor
    return found
