"""Order statistics of all differences of two series, without computing them all.

Two series of a thousand have a million differences; a table of many pairs must not sort them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from culvert.statistics.values import Array

Places = NDArray[np.intp]

_GRID = 96
"""So many values of each series tell between which differences the answer is."""


def ordered_differences(x: Array, y: Array, places: Sequence[int]) -> list[float]:
    """The values at ``places`` (from 0) of all x[i] - y[j] in ascending order; x and y sorted."""
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
