"""Holm's correction for many tests (Scandinavian Journal of Statistics 6, 1979)."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values in the order given: at most alpha where the family-wise test rejects.

    The k-th smallest of m is multiplied by m - k + 1; none falls below the one before it.
    """
    adjusted = [0.0] * len(p_values)
    floor = 0.0
    ascending = sorted(range(len(p_values)), key=lambda index: p_values[index])
    for done, index in enumerate(ascending):
        floor = max(floor, min(1.0, p_values[index] * (len(p_values) - done)))
        adjusted[index] = floor
    return adjusted
