"""How well a cell is known by its trials so far, and whether more of them can help.

The interval is the 95 % bootstrap interval of the median (BCa; Efron 1987). Where the trials are
correlated it is widened to what they are worth; where they drift, there is no one value that it
could enclose.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from culvert.statistics.bootstrap import Samples, median_ends
from culvert.statistics.serial import effective_sample_size, lag1_p_value
from culvert.statistics.trend import mann_kendall

MIN_BLOCKS = 5
"""With fewer values the interval of a median is the range of the values at best."""

ENOUGH_FOR_DRIFT = 10
ENOUGH_TO_GIVE_UP = 30
"""Fewer values say too little of whether they drift, and of how many more it would take."""

CORRELATED_BELOW = 0.05
DRIFTS_BELOW = 0.01
"""p-values; a cell is looked at after every block, and a false alarm costs little: it is not waited
for, and looked at again with each value that it gets."""

_RESAMPLES = 2000
_SEED = 1


class State(StrEnum):
    """What is known of a cell's figure."""

    PRECISE = "precise"
    OPEN = "not yet precise"
    DRIFTS = "drifts"
    HOPELESS = "too noisy"

    @property
    def settled(self) -> bool:
        """Whether no repetition within the plan would change it."""
        return self is not State.OPEN


@dataclass(frozen=True)
class Precision:
    """``half_width`` is relative to the median, and None where there is no interval yet; ``worth``
    is how many independent trials the ``n`` stand for; ``needed`` is how many in all it takes."""

    state: State
    n: int
    half_width: float | None = None
    worth: float = 0.0
    needed: int | None = None

    def __str__(self) -> str:
        if self.state is State.DRIFTS:
            return f"drifts over its {self.n} trials: no number of repetitions makes it precise"
        if self.half_width is None:
            return f"has {self.n} trials that count, too few for an interval"
        text = f"is known to ±{self.half_width * 100:.2g} % after {self.n} trials"
        if self.worth < self.n:
            text += f" that are worth {self.worth:.0f} (they are correlated)"
        if self.state is State.HOPELESS and self.needed is not None:
            text += f"; it would take about {self.needed}, more than the plan has"
        return text


def precision_of(
    values: Mapping[str, Sequence[float]],
    half_width: float,
    *,
    confidence: float = 0.95,
    most: int | None = None,
) -> dict[str, Precision]:
    """The precision of each cell against the half width asked for, relative to the median.

    ``most`` is how many trials a cell gets at most. The same values give the same answer: the
    bootstrap's seed is fixed.
    """
    series = {key: np.asarray(found, dtype=np.float64) for key, found in values.items()}
    widths = relative_half_widths(series, confidence)
    return {key: _judged(sample, widths[key], half_width, most) for key, sample in series.items()}


def _judged(sample: Samples, width: float | None, asked: float, most: int | None) -> Precision:
    n = len(sample)
    if width is None:
        return Precision(State.OPEN, n, worth=float(n))
    worth = _worth(sample)
    width *= math.sqrt(n / worth)
    needed = max(n, math.ceil(n * (width / asked) ** 2))
    if _drifts(sample, asked):
        return Precision(State.DRIFTS, n, width, worth)
    if width <= asked:
        return Precision(State.PRECISE, n, width, worth, n)
    # The width is itself uncertain: only what is beyond that doubt is given up.
    hopeless = (
        most is not None and n >= ENOUGH_TO_GIVE_UP and needed > most * (1 + 3 / math.sqrt(n))
    )
    return Precision(State.HOPELESS if hopeless else State.OPEN, n, width, worth, needed)


def _worth(sample: Samples) -> float:
    p_value = lag1_p_value(sample)
    if p_value is None or p_value >= CORRELATED_BELOW:
        return float(len(sample))
    return effective_sample_size(sample)


def _drifts(sample: Samples, asked: float) -> bool:
    """Whether there is a trend, and it moves the figure by more than may be unknown of it."""
    if len(sample) < ENOUGH_FOR_DRIFT:
        return False
    third = len(sample) // 3
    median = float(np.median(sample))
    moved = float(np.median(sample[-third:]) - np.median(sample[:third]))
    if abs(moved) <= asked * abs(median):
        return False
    return mann_kendall(sample).p_value < DRIFTS_BELOW


def relative_half_widths(
    series: Mapping[str, Samples], confidence: float = 0.95
) -> dict[str, float | None]:
    """Half the width of each median's interval, relative to the median.

    None while there are fewer than MIN_BLOCKS values, or if the median is 0 and the values differ.
    """
    found: dict[str, float | None] = dict.fromkeys(series)
    by_size: dict[int, list[str]] = {}
    for key, sample in series.items():
        if len(sample) < MIN_BLOCKS:
            continue
        if np.all(sample == sample[0]):
            found[key] = 0.0
        else:
            by_size.setdefault(len(sample), []).append(key)
    for keys in by_size.values():
        stacked = np.stack([np.sort(series[key]) for key in keys])
        ends = median_ends(stacked, level=confidence, resamples=_RESAMPLES, seed=_SEED)
        medians = np.abs(np.median(stacked, axis=1))
        for key, low, high, median in zip(keys, ends.low, ends.high, medians, strict=True):
            if high == low:
                found[key] = 0.0
            elif median > 0:
                found[key] = float((high - low) / 2 / median)
    return found
