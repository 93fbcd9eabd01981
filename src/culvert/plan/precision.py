"""The precision of each cell after its trials so far, and whether more trials improve it.

The interval is the 95 % interval of the median by order statistics (``statistics.intervals``), the
same that the report prints: repeated if the rule looks more than once, and widened if neighbouring
trials correlate. If the trials drift, there is no single value that it could cover.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from culvert.statistics.intervals import FEWEST, median_intervals
from culvert.statistics.looks import ONCE, Looks
from culvert.statistics.serial import widening
from culvert.statistics.trend import mann_kendall
from culvert.statistics.values import Array as Samples

MIN_BLOCKS = FEWEST
"""With fewer values a median has no interval."""

ENOUGH_FOR_DRIFT = 10
ENOUGH_TO_GIVE_UP = 30
"""With fewer values, neither drift nor the number of needed trials can be estimated."""

DRIFTS_BELOW = 0.01
"""A p-value. Each cell is tested after every block. A false alarm costs little: the cell is not
waited for, and tested again after its next value."""


def looks_of(rule: bool, least: int, most: int | None) -> Looks:
    """The looks of a plan with ``least`` to ``most`` blocks that a ``rule`` can end."""
    if not rule:
        return ONCE
    first = max(MIN_BLOCKS, least)
    return Looks(first=first if most is None else min(first, most), last=most).reaching()


class PrecisionState(StrEnum):
    """The state of a cell's precision."""

    PRECISE = "precise"
    OPEN = "not yet precise"
    DRIFTS = "drifts"
    HOPELESS = "too noisy"

    @property
    def settled(self) -> bool:
        """Whether no repetition within the plan changes it."""
        return self is not PrecisionState.OPEN


@dataclass(frozen=True)
class Precision:
    """``half_width`` is relative to the median, None without an interval yet; ``effective_n`` is
    the effective number of independent trials; ``needed`` is the total number of trials needed."""

    state: PrecisionState
    n: int
    half_width: float | None = None
    effective_n: float = 0.0
    needed: int | None = None

    def __str__(self) -> str:
        if self.state is PrecisionState.DRIFTS:
            return f"drifts over its {self.n} trials: no number of repetitions makes it precise"
        if self.half_width is None:
            return f"has {self.n} trials that count, too few for an interval"
        text = f"is known to ±{self.half_width * 100:.2g} % after {self.n} trials"
        if self.effective_n < self.n:
            text += f" (effective sample size {self.effective_n:.0f}: they are correlated)"
        if self.state is PrecisionState.HOPELESS and self.needed is not None:
            text += f"; it would take about {self.needed}, more than the plan has"
        return text


def precision_of(
    values: Mapping[str, Sequence[float]],
    half_width: float,
    *,
    looks: Looks = ONCE,
    most: int | None = None,
) -> dict[str, Precision]:
    """The precision of each cell against the requested half width, relative to the median.

    ``looks`` are those of the rule; ``most`` is the greatest number of trials of a cell.
    """
    series = {key: np.asarray(found, dtype=np.float64) for key, found in values.items()}
    widths = relative_half_widths(series, looks)
    return {key: _judged(sample, widths[key], half_width, most) for key, sample in series.items()}


def _judged(sample: Samples, width: float | None, requested: float, most: int | None) -> Precision:
    n = len(sample)
    if width is None:
        return Precision(PrecisionState.OPEN, n, effective_n=float(n))
    effective_n = n / widening(sample) ** 2
    needed = max(n, math.ceil(n * (width / requested) ** 2))
    if _drifts(sample, requested):
        return Precision(PrecisionState.DRIFTS, n, width, effective_n)
    if width <= requested:
        return Precision(PrecisionState.PRECISE, n, width, effective_n, n)
    # The width itself is uncertain: a cell is given up only if it exceeds that uncertainty.
    hopeless = (
        most is not None and n >= ENOUGH_TO_GIVE_UP and needed > most * (1 + 3 / math.sqrt(n))
    )
    return Precision(
        PrecisionState.HOPELESS if hopeless else PrecisionState.OPEN, n, width, effective_n, needed
    )


def _drifts(sample: Samples, requested: float) -> bool:
    """Whether there is a trend that moves the figure by more than the requested half width."""
    if len(sample) < ENOUGH_FOR_DRIFT:
        return False
    third = len(sample) // 3
    median = float(np.median(sample))
    moved = float(np.median(sample[-third:]) - np.median(sample[:third]))
    if abs(moved) <= requested * abs(median):
        return False
    return mann_kendall(sample).p_value < DRIFTS_BELOW


def relative_half_widths(
    series: Mapping[str, Samples], looks: Looks = ONCE
) -> dict[str, float | None]:
    """Half the width of each median's interval, relative to the median.

    None if there are too few values for an interval, or if the median is 0 and the values
    differ.
    """
    found: dict[str, float | None] = dict.fromkeys(series)
    intervals = median_intervals([sample.tolist() for sample in series.values()], looks)
    for (key, sample), interval in zip(series.items(), intervals, strict=True):
        if len(sample) < MIN_BLOCKS:
            continue
        if np.ptp(sample) == 0:
            found[key] = 0.0
        elif interval.low is not None and interval.high is not None:
            median = abs(float(np.median(sample)))
            if interval.high == interval.low:
                found[key] = 0.0
            elif median > 0:
                found[key] = (interval.high - interval.low) / 2 / median
    return found
