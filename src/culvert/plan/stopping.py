"""When repeating can stop: the interval of every cell is as narrow as asked.

The rule "ci <= 2%" asks that half the width of the 95 % bootstrap interval of the median is at
most 2 % of the median, which people write as +-2 %. The interval is BCa (Efron 1987, "Better
bootstrap confidence intervals"), and the percentile interval where BCa does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from culvert.bootstrap import Samples, median_ends
from culvert.study.rule import StopRule

MIN_BLOCKS = 5
"""With fewer values the interval of a median is the range of the values at best."""

_RESAMPLES = 2000


class StopReason(StrEnum):
    """Why a run ended, or that it goes on."""

    GO_ON = "goes on"
    PRECISE = "every interval is as narrow as asked"
    BLOCKS = "all blocks are measured"
    BUDGET = "the time is used up"


@dataclass(frozen=True)
class Decision:
    """``half_widths`` are relative to the median, by cell key; None where no interval exists yet.
    ``open`` are the cells that are not yet precise."""

    reason: StopReason
    half_widths: Mapping[str, float | None] = field(default_factory=dict)
    open: tuple[str, ...] = ()

    @property
    def stop(self) -> bool:
        """True when nothing more is to be measured."""
        return self.reason is not StopReason.GO_ON


def decide(rule: StopRule, values: Mapping[str, Sequence[float]]) -> Decision:
    """Whether every cell is as precise as the rule asks.

    ``values`` holds, by cell key, the figure of each trial that counted. A cell without an entry
    (all its trials failed or are unsupported) is not waited for; without any cell there is nothing
    to wait for.
    """
    widths = {key: relative_half_width(v, rule.confidence) for key, v in values.items()}
    still = tuple(key for key, width in widths.items() if width is None or width > rule.half_width)
    return Decision(StopReason.GO_ON if still else StopReason.PRECISE, widths, still)


def relative_half_width(values: Sequence[float], confidence: float = 0.95) -> float | None:
    """Half the width of the median's interval, relative to the median.

    None while there are fewer than MIN_BLOCKS values, or if the median is 0 and the values differ.
    The same values give the same width: the bootstrap's seed is fixed.
    """
    sample = np.asarray(values, dtype=np.float64)
    if len(sample) < MIN_BLOCKS:
        return None
    low, high = median_interval(sample, confidence)
    median = float(np.median(sample))
    if high == low:
        return 0.0
    return None if median == 0 else (high - low) / 2 / abs(median)


def median_interval(sample: Samples, confidence: float) -> tuple[float, float]:
    """Low and high end of the bootstrap interval of the median."""
    if np.all(sample == sample[0]):
        return float(sample[0]), float(sample[0])
    ends = median_ends(np.sort(sample)[np.newaxis], level=confidence, resamples=_RESAMPLES, seed=1)
    return float(ends.low[0]), float(ends.high[0])
