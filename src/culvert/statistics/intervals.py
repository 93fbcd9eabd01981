"""Intervals of medians and means with the stated coverage, for many samples at once.

Medians have order-statistic intervals (``order_statistics``), means Student's. Both are widened
for the correlation of neighbouring trials (``serial.widening``). If a rule could
end the run at this number of trials, the level is that look's share (Jennison and Turnbull,
"Interim analyses: the repeated confidence interval approach", J. R. Statist. Soc. B 51, 1989).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from culvert.statistics.looks import ONCE, Looks
from culvert.statistics.order_statistics import median_ends
from culvert.statistics.serial import widening
from culvert.statistics.values import Array, ratio_of, spread

FEWEST = ONCE.fewest()
"""Six: the whole range of five trials covers the median 93.75 times in 100 (1 - 2 * 0.5**n)."""


class Note(StrEnum):
    """Why an interval is missing, or a note on it."""

    NONE = ""
    TOO_FEW = f"fewer than {FEWEST} trials: no interval"
    CONSTANT = "every trial gave the same value: no interval"
    NOT_POSITIVE = "a value is not positive: no interval of a ratio"
    TOO_EARLY = "a rule could end the run after so few trials: no interval reaches 95 %"
    REPEATED = "a rule could end the run: the interval holds at each of its looks"
    WIDENED = "widened: neighbouring trials are correlated"
    REPEATED_WIDENED = (
        "a rule could end the run: the interval holds at each of its looks; "
        "widened: neighbouring trials are correlated"
    )


@dataclass(frozen=True)
class Interval:
    """A 95 % interval in the unit of the sample; both ends None where there is none."""

    low: float | None
    high: float | None
    note: Note = Note.NONE

    def excludes(self, value: float) -> bool:
        return self.low is not None and self.high is not None and not self.low <= value <= self.high


def median_intervals(
    samples: Sequence[Sequence[float]], looks: Looks = ONCE, *, serial: bool = True
) -> list[Interval]:
    """The interval of each sample's median, in the order of the samples.

    ``looks`` are those of the rule that could end the run. ``serial``: a sample is in the order of
    measuring, and neighbours may be alike; False for what was drawn in random order.
    """
    arrays = [np.asarray(sample, dtype=np.float64) for sample in samples]
    result = [_absent(sample, looks) for sample in arrays]
    by_size: dict[int, list[int]] = {}
    for index, sample in enumerate(arrays):
        if result[index] is None:
            by_size.setdefault(sample.size, []).append(index)
    for n, indices in by_size.items():
        stacked = np.sort(np.stack([arrays[index] for index in indices]), axis=1)
        lows, highs = median_ends(stacked, 1 - looks.level(n))
        medians = np.median(stacked, axis=1)
        for index, low, high, median in zip(indices, lows, highs, medians, strict=True):
            factor = widening(arrays[index]) if serial else 1.0
            ends = _widened(float(low), float(median), float(high), factor)
            result[index] = _interval(arrays[index], *ends, _note(looks, factor))
    return [interval or Interval(None, None, Note.TOO_FEW) for interval in result]


def mean_intervals(samples: Sequence[Sequence[float]], looks: Looks = ONCE) -> list[Interval]:
    """Student's interval of each sample's mean; else as ``median_intervals``."""
    return [_mean_interval(np.asarray(sample, dtype=np.float64), looks) for sample in samples]


def _mean_interval(sample: Array, looks: Looks) -> Interval:
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import, seldom needed

    absent = _absent(sample, looks)
    if absent is not None:
        return absent
    n = sample.size
    factor = widening(sample)
    half = float(stdtrit(n - 1, 1 - looks.level(n) / 2)) * spread(sample) / math.sqrt(n) * factor
    mean = float(sample.mean())
    return _interval(sample, mean - half, mean + half, _note(looks, factor))


def _interval(sample: Array, low: float, high: float, note: Note) -> Interval:
    """Of what is never negative, such as a time, no end is."""
    return Interval(max(low, 0.0) if sample.min() >= 0 else low, high, note)


def _absent(sample: Array, looks: Looks) -> Interval | None:
    """Why a sample has no interval; None if it has one."""
    n = sample.size
    if n < FEWEST:
        return Interval(None, None, Note.TOO_FEW)
    if np.ptp(sample) == 0:
        return Interval(None, None, Note.CONSTANT)
    if n < looks.fewest():
        return Interval(None, None, Note.TOO_EARLY)
    return None


def _widened(low: float, median: float, high: float, factor: float) -> tuple[float, float]:
    """The ends ``factor`` times as far from the median: as ratios where the lower one is positive,
    so that it stays so."""
    if factor == 1:
        return low, high
    if low > 0:
        below, above = (factor * math.log(end / median) for end in (low, high))
        return median * ratio_of(below), median * ratio_of(above)
    return median - (median - low) * factor, median + (high - median) * factor


def _note(looks: Looks, factor: float) -> Note:
    if looks.first:
        return Note.REPEATED_WIDENED if factor > 1 else Note.REPEATED
    return Note.WIDENED if factor > 1 else Note.NONE
