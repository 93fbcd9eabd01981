"""Bootstrap intervals of medians and means, for many samples of one size at once.

BCa where it is defined (``statistics.bootstrap``), else the percentile bootstrap, and said so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np

from culvert.statistics.bootstrap import Ends, Samples, mean_ends, median_ends

LEVEL = 0.95
RESAMPLES = 4999
_CHUNK = 256
"""Samples that are resampled at a time: bounds the memory."""
FEWEST = 5
"""Below five trials even the whole range of the sample holds the median less than 94 times in 100
(1 - 2 * 0.5**n); a narrower interval would be a claim without ground."""


class Note(StrEnum):
    """Why an interval is absent, or what to know about it."""

    NONE = ""
    TOO_FEW = "fewer than 5 trials: no interval"
    CONSTANT = "every trial gave the same value: no interval"
    FIVE = "5 trials: no interval can hold more than 94 %"
    NOT_POSITIVE = "a value is not positive: no interval of a ratio"
    PERCENTILE = "percentile bootstrap, as BCa is undefined here"


@dataclass(frozen=True)
class Interval:
    """A 95 % interval in the unit of the sample; both ends None where there is none."""

    low: float | None
    high: float | None
    note: Note = Note.NONE

    def excludes(self, value: float) -> bool:
        """True if there is an interval and the value is outside it."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high


class _Method(Protocol):
    """Of ``culvert.statistics.bootstrap``."""

    def __call__(self, samples: Samples, *, level: float, resamples: int, seed: int) -> Ends: ...


def median_intervals(samples: Sequence[Sequence[float]], *, seed: int) -> list[Interval]:
    """The interval of each sample's median, in the order of the samples.

    The result depends on the values and the seed alone: not on the order of the values, nor on
    what other samples are asked for at the same time.
    """
    return _intervals(samples, median_ends, seed)


def mean_intervals(samples: Sequence[Sequence[float]], *, seed: int) -> list[Interval]:
    """The interval of each sample's mean, as ``median_intervals`` but for the last bits."""
    return _intervals(samples, mean_ends, seed)


def _intervals(samples: Sequence[Sequence[float]], method: _Method, seed: int) -> list[Interval]:
    result: list[Interval] = [Interval(None, None, Note.TOO_FEW)] * len(samples)
    by_size: dict[int, list[int]] = {}
    ordered = [np.sort(np.asarray(sample, dtype=np.float64)) for sample in samples]
    for index, sample in enumerate(ordered):
        if sample.size < FEWEST:
            continue
        if sample[0] == sample[-1]:
            result[index] = Interval(None, None, Note.CONSTANT)
        else:
            by_size.setdefault(sample.size, []).append(index)
    for indices in by_size.values():
        for start in range(0, len(indices), _CHUNK):
            part = indices[start : start + _CHUNK]
            stacked = np.stack([ordered[index] for index in part])
            for index, interval in zip(part, _bootstrap(stacked, method, seed), strict=True):
                result[index] = interval
    return result


def _bootstrap(samples: Samples, method: _Method, seed: int) -> list[Interval]:
    """Intervals of the rows of ``samples`` (k, n), each row sorted and not constant."""
    ends = method(samples, level=LEVEL, resamples=RESAMPLES, seed=seed)
    notes = [Note.PERCENTILE if row else Note.NONE for row in ends.percentile]
    if samples.shape[1] == FEWEST:
        notes = [Note.FIVE] * len(notes)
    return [
        Interval(float(low), float(high), note)
        for low, high, note in zip(ends.low, ends.high, notes, strict=True)
    ]
