"""Where a series jumps to another level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from culvert.statistics.serial import inflation
from culvert.statistics.values import Array, Values, array, ranks

ALPHA = 0.01
"""The probability that a steady series is split."""

SHORTEST = 5
"""Values on either side of a jump: fewer are outliers, not a level."""


def change_points(values: Values) -> list[int]:
    """Indices, from 0, of the first value of each new level.

    Binary segmentation (Vostrikova, Soviet Mathematics Doklady 24, 1981) of the ranks, on which an
    outlier is no jump: a part is split where its cumulative sum S is farthest from 0, or where it
    has its greatest and its least (there and back again: Olshen et al., Biostatistics 5, 2004),
    while that is significant. max |S| and max S - min S, divided by spread times root of n, are
    distributed as Kolmogorov's and Kuiper's statistics. The spread is that about the levels, and
    is widened for correlation (``inflation``): a correlated series is not split.
    """
    found: list[int] = []
    open_ = [(0, array(values))]
    while open_:
        begin, part = open_.pop()
        splits = _splits(part)
        found += [begin + split for split in splits]
        if splits:
            ends = [0, *splits, part.size]
            open_ += [(begin + a, part[a:b]) for a, b in pairwise(ends)]
    return sorted(found)


def _splits(sample: Array) -> list[int]:
    from scipy.special import kolmogorov  # noqa: PLC0415 - slow to import, seldom needed

    n = sample.size
    if n < 2 * SHORTEST or np.ptp(sample) == 0:
        return []
    about = ranks(sample) - (n + 1) / 2
    sums = np.cumsum(about)
    inner = sums[SHORTEST - 1 : n - SHORTEST]
    once = [int(np.abs(inner).argmax()) + SHORTEST]
    if kolmogorov(_distance(about, float(np.abs(inner).max()), once)) < ALPHA / 2:
        return once
    there, back = sorted((int(inner.argmin()) + SHORTEST, int(inner.argmax()) + SHORTEST))
    if back - there < SHORTEST:
        return []
    reach = float(inner.max() - inner.min())
    return [there, back] if _kuiper(_distance(about, reach, [there, back])) < ALPHA / 2 else []


def _distance(centred: Array, reach: float, splits: Sequence[int]) -> float:
    """The range of the sum relative to that expected by chance, given levels split there."""
    parts = np.split(centred, splits)
    about = np.concatenate([part - part.mean() for part in parts])
    # The levels, and the places between them.
    fitted = len(parts) + len(splits)
    spread = math.sqrt(float((about**2).sum()) / (centred.size - len(parts)))
    if spread == 0:
        return math.inf
    return reach / (spread * math.sqrt(centred.size * inflation(about, fitted)))


def _kuiper(distance: float) -> float:
    """P(max - min of a Brownian bridge > distance) (Kuiper, Proc. Kon. Ned. Akad. Wet. A 63, 1960).

    The series is of use from 0.5 on, where it is 1 to five digits.
    """
    if distance < 0.5:
        return 1.0
    if math.isinf(distance):
        return 0.0
    square = (np.arange(1, 20) * distance) ** 2
    return float(2 * ((4 * square - 1) * np.exp(-2 * square)).sum())
