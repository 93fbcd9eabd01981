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


def change_points(values: Values, alpha: float = ALPHA) -> list[int]:
    """Indices, from 0, of the first value of each new level.

    Binary segmentation (Vostrikova, Soviet Mathematics Doklady 24, 1981) of the ranks, on which an
    outlier is no jump. With a third of ``alpha`` each, a part is split where its cumulative sum is
    farthest from 0 (Kolmogorov's statistic: best in the middle), where the means of both sides
    differ most for their place (``_split``: also near an end), or where the sum has its greatest
    and its least (there and back again: Olshen et al., Biostatistics 5, 2004; Kuiper's statistic).
    The spread is that about the levels, and is widened for correlation (``inflation``): a
    correlated series is not split.
    """
    found: list[int] = []
    open_ = [(0, array(values))]
    while open_:
        begin, part = open_.pop()
        splits = _splits(part, alpha / 3)
        found += [begin + split for split in splits]
        if splits:
            ends = [0, *splits, part.size]
            open_ += [(begin + a, part[a:b]) for a, b in pairwise(ends)]
    return sorted(found)


def _splits(sample: Array, alpha: float) -> list[int]:
    n = sample.size
    if n < 2 * SHORTEST or np.ptp(sample) == 0:
        return []
    from scipy.special import kolmogorov  # noqa: PLC0415 - slow to import, seldom needed

    about = ranks(sample) - (n + 1) / 2
    inner = np.cumsum(about)[SHORTEST - 1 : n - SHORTEST]
    once = int(np.abs(inner).argmax()) + SHORTEST
    if kolmogorov(_distance(about, float(np.abs(inner).max()), [once])) < alpha:
        return [once]
    place, deviations = _split(about, inner)
    if _p_of_greatest(deviations, n) < alpha:
        return [place]
    there, back = sorted((int(inner.argmin()) + SHORTEST, int(inner.argmax()) + SHORTEST))
    if back - there < SHORTEST:
        return []
    reach = float(inner.max() - inner.min())
    return [there, back] if _kuiper(_distance(about, reach, [there, back])) < alpha else []


def _split(about: Array, inner: Array) -> tuple[int, float]:
    """Where the means of both sides differ most, and by how many standard deviations.

    Each place is weighed by its own deviation, so that the newest few values can be a level.
    """
    n = about.size
    left = np.arange(SHORTEST, n - SHORTEST + 1)
    weighed = np.abs(inner) / np.sqrt(left * (n - left) / n)
    place = int(weighed.argmax())
    # About the levels: a jump is no correlation. The deviation of all ranks is exact without one.
    parts = np.split(about, [int(left[place])])
    widened = inflation(np.concatenate([part - part.mean() for part in parts]), 3)
    square = float(weighed[place] ** 2 * (n - 1) / (about**2).sum())
    within = square * (n - 2) / max(n - 1 - square, 1e-9) / widened
    return int(left[place]), math.sqrt(within * (n - 1) / (n - 2 + within))


def _p_of_greatest(deviations: float, n: int) -> float:
    """P(the greatest standardised difference over all places > deviations) without a jump.

    James, James and Siegmund (Biometrika 74, 1987), nu of Siegmund and Yakir (The Statistics of
    Gene Mapping, 2007), which allows for the distance of the places.
    """
    from scipy.special import ndtr  # noqa: PLC0415 - slow to import, seldom needed

    if deviations <= 1:
        return 1.0
    square = deviations**2
    ends = (1 / (n - SHORTEST) - 1 / n, 1 / SHORTEST - 1 / n)
    x = deviations * np.sqrt(np.geomspace(*ends, 33))
    half = (x + square / (n * x)) / 2
    density = np.exp(-(half**2) / 2) / math.sqrt(2 * math.pi)
    nu = (ndtr(half) - 0.5) / half / (half * ndtr(half) + density)
    height = math.exp(-square / 2) / math.sqrt(2 * math.pi)
    over = float(np.trapezoid(nu, np.log(x)))
    return min(1.0, 2 * float(ndtr(-deviations)) + 2 * deviations * height * over)


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
