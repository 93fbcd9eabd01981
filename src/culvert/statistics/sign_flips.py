"""All pairs of a column at once: a sign-flip test over blocks that keeps the family's error rate.

If two contestants are equal, the difference in each block has either sign with equal probability.
Flipping the signs of whole blocks, all pairs together, gives the distribution of the greatest t of
all pairs; repeated without the pairs that are already rejected, it gives p values adjusted for the
number of pairs (Westfall and Young, "Resampling-Based Multiple Testing", 1993;
Romano and Wolf, JASA 100, 2005). Exact for few blocks, by 4,095 random turns for many.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from culvert.statistics.values import Array

TURNS = 4096
"""Up to so many sign patterns are all enumerated: up to 13 blocks."""

_SAME = 1e-9
"""Statistics that differ by less, relatively, are equal but for rounding."""


@dataclass(frozen=True)
class Flipped:
    """One value a pair. ``p_values`` are two-sided and adjusted for all pairs; ``least`` is the
    smallest that the number of blocks allows."""

    p_values: Array
    least: Array


def least_p(blocks: int) -> float:
    """The smallest two-sided p value that signs of so many blocks can give: 2 * 0.5**n."""
    return max(2 * 0.5**blocks, 1 / TURNS) if blocks else 1.0


def sign_flips(differences: Array, inflation: float = 1.0) -> Flipped:
    """Test every column of ``differences`` (blocks, pairs); NaN if the pair is missing in a block.

    The statistic is Student's t of each pair alone, so that pairs of another scatter compare: a
    variance shared by all pairs finds more where all scatter alike, but almost nothing about steady
    contestants beside a noisy one. ``inflation`` is that of its variance by correlation.
    """
    present = ~np.isnan(differences)
    n = present.sum(axis=0)
    filled = np.where(present, differences, 0.0)
    scale = np.abs(filled).max(axis=0, initial=0.0)
    filled = filled / np.where(scale > 0, scale, 1.0)
    least = np.array([least_p(int(blocks)) for blocks in n])
    if not differences.size or not n.any():
        return Flipped(np.ones(differences.shape[1]), least)
    many = np.maximum(n, 1)
    square = (filled**2).sum(axis=0) / many
    found = _t(filled.sum(axis=0) / many, square, many) / np.sqrt(inflation)
    ascending = np.argsort(found)
    greatest = _t((_signs(differences.shape[0]) @ filled) / many, square, many)[:, ascending]
    np.maximum.accumulate(greatest, axis=1, out=greatest)
    p_values = (greatest >= found[ascending] * (1 - _SAME)).mean(axis=0)
    # p values are monotonic: none is below that of a pair with a greater statistic.
    p_values = np.maximum.accumulate(p_values[::-1])[::-1]
    adjusted = np.empty_like(p_values)
    adjusted[ascending] = p_values
    return Flipped(np.maximum(adjusted, least), least)


def _t(mean: Array, square: Array, many: Array) -> Array:
    """|t| of ``many`` values from their mean and the mean of their squares, which signs leave."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = np.maximum(square - mean**2, 1e-15 * square)
        return np.asarray(np.where(square > 0, np.abs(mean) * np.sqrt((many - 1) / rest), 0.0))


@cache
def _signs(blocks: int) -> Array:
    """One row per sign pattern: all of them, or random ones including the unchanged signs.

    The complementary pattern gives the same |t|, so the first block keeps its sign.
    """
    if 2 ** (blocks - 1) <= TURNS:
        turned = (np.arange(2 ** (blocks - 1))[:, None] >> np.arange(blocks)) & 1
    else:
        turned = np.random.default_rng(1).integers(0, 2, (TURNS, blocks))
        turned[0] = 0
    return np.where(turned == 1, -1.0, 1.0)
