"""How large a difference is, without assumptions on the distribution. No series is empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from culvert.statistics.values import Array, Values, array

_LEVEL = 0.95
"""Of all intervals."""
_GRID = 96
"""So many values of each series tell between which differences the answer is."""
Places = NDArray[np.intp]


class Size(StrEnum):
    """Names for |delta| (Romano et al., Florida Association of Institutional Research, 2006)."""

    NEGLIGIBLE = "negligible"
    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


@dataclass(frozen=True)
class Delta:
    """P(a > b) - P(a < b), from -1 to 1, with its interval; ends None with a single value."""

    value: float
    low: float | None
    high: float | None
    size: Size


@dataclass(frozen=True)
class Shift:
    """By how much a lies above b, in their unit; ends None if no interval reaches the level."""

    value: float
    low: float | None
    high: float | None


def cliffs_delta(a: Values, b: Values) -> Delta:
    """Cliff's delta with the interval of Feng and Cliff (J. Mod. Appl. Stat. Methods 3, 2004)."""
    from scipy.special import ndtri, stdtrit  # noqa: PLC0415 - slow to import, seldom needed

    x, y = array(a), array(b)
    of_x, of_y = _dominance(x, y), -_dominance(y, x)
    # A sum of whole numbers, so that delta(a, b) is exactly -delta(b, a).
    value = float(of_x.sum()) / (x.size * y.size)
    if min(x.size, y.size) < 2:
        return Delta(value, None, None, _size(value))
    z = float(ndtri((1 + _LEVEL) / 2))
    if abs(value) == 1:
        # No value overlaps, so the variance is 0; the end is the greatest delta for which the
        # smaller sample could look like this.
        few = min(x.size, y.size)
        end = (few - z * z) / (few + z * z)
        return Delta(value, *((end, 1.0) if value > 0 else (-1.0, -end)), Size.LARGE)
    sd = np.sqrt(_variance(x, y, of_x / y.size, of_y / x.size, value))
    t = float(stdtrit(x.size + y.size - 2, (1 + _LEVEL) / 2))
    half = t * sd * np.sqrt((1 - value**2) ** 2 + t**2 * sd**2)
    below = 1 - value**2 + t**2 * sd**2
    low = max(-1.0, float((value - value**3 - half) / below))
    high = min(1.0, float((value - value**3 + half) / below))
    return Delta(value, low, high, _size(value))


def hodges_lehmann(a: Values, b: Values) -> Shift:
    """The median of all differences a - b (Hodges and Lehmann, Ann. Math. Stat. 34, 1963).

    The interval inverts the Mann-Whitney test (Hollander, Wolfe and Chicken, 2014, section 4.3) by
    its normal approximation.
    """
    from scipy.special import ndtri  # noqa: PLC0415 - slow to import, seldom needed

    x, y = np.sort(array(a)), np.sort(array(b))
    m, n = x.size, y.size
    every = m * n
    z = float(ndtri((1 + _LEVEL) / 2))
    below = round(every / 2 - z * np.sqrt(every * (m + n + 1) / 12))
    places = [(every - 1) // 2, every // 2, max(0, below - 1), min(every - 1, every - below)]
    lower, upper, low, high = _ordered_differences(x, y, places)
    value = lower + (upper - lower) / 2
    return Shift(value, None, None) if below < 1 else Shift(value, low, high)


def _dominance(x: Array, y: Array) -> Array:
    """For each of x: the number of y below it minus the number above it."""
    ordered = np.sort(y)
    below = np.searchsorted(ordered, x, "left")
    above = y.size - np.searchsorted(ordered, x, "right")
    return (below - above).astype(np.float64)


def _variance(x: Array, y: Array, of_x: Array, of_y: Array, value: float) -> float:
    """Cliff's unbiased variance, not below (1 - delta**2) / (mn - 1)."""
    m, n = x.size, y.size
    ordered = np.sort(y)
    ties = (np.searchsorted(ordered, x, "right") - np.searchsorted(ordered, x, "left")).sum()
    within = (m * n - float(ties)) - m * n * value**2
    between = m**2 * ((of_y - value) ** 2).sum() + n**2 * ((of_x - value) ** 2).sum()
    variance = (between - within) / (m * n * (m - 1) * (n - 1))
    return max(float(variance), (1 - value**2) / (m * n - 1))


def _size(value: float) -> Size:
    if abs(value) < 0.147:
        return Size.NEGLIGIBLE
    if abs(value) < 0.33:
        return Size.SMALL
    return Size.MEDIUM if abs(value) < 0.474 else Size.LARGE


def _ordered_differences(x: Array, y: Array, places: Sequence[int]) -> list[float]:
    """The values at ``places`` (from 0) of all x[i] - y[j] in ascending order; x and y sorted.

    Two series of a thousand have a million differences; a table of many pairs must not sort them.
    """
    begin, end = _bracket(x, y, places)
    many = end - begin
    # One after the other, the y between begin and end of each x.
    starts = np.repeat(np.cumsum(many) - many, many)
    within = np.arange(many.sum()) - starts + np.repeat(begin, many)
    left = np.repeat(x, many) - y[within]
    # What lies behind the end is subtracted more, so it comes before.
    before = int((y.size - end).sum())
    wanted = [place - before for place in places]
    left.partition(wanted)
    return [float(left[place]) for place in wanted]


def _bracket(x: Array, y: Array, places: Sequence[int]) -> tuple[Places, Places]:
    """For each x the range of y whose differences can be at ``places``."""
    begin: Places = np.zeros(x.size, np.intp)
    end: Places = np.full(x.size, y.size, np.intp)
    every = x.size * y.size
    if every <= _GRID**2:
        return begin, end
    few = np.subtract.outer(_thin(x), _thin(y)).ravel()
    margin = 1 / _GRID
    slack = 8 * np.finfo(np.float64).eps * (np.abs(x).max() + np.abs(y).max())
    first = int(max(0.0, min(places) / every - margin) * (few.size - 1))
    last = int(np.ceil(min(1.0, max(places) / every + margin) * (few.size - 1)))
    few.partition([first, last])
    low, high = few[first] - slack, few[last] + slack
    near_begin, near_end = np.searchsorted(y, x - high), np.searchsorted(y, x - low, "right")
    before = int((y.size - near_end).sum())
    inside = int((near_end - near_begin).sum())
    if before <= min(places) and max(places) < before + inside:
        return near_begin, near_end
    return begin, end


def _thin(ordered: Array) -> Array:
    places = np.linspace(0, ordered.size - 1, min(_GRID, ordered.size)).round().astype(np.intp)
    return ordered[places]
