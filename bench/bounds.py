"""Goals that are a bound: of our median, or of the ratio to the peer in a typical round."""

from __future__ import annotations

import statistics
from typing import ClassVar

from bench.goal import Goal, Samples


class MedianBelow(Goal):
    """``limit`` is in the goal's unit."""

    limit: ClassVar[float]

    def met(self, samples: Samples) -> bool:
        """By the median."""
        return statistics.median(samples.ours) < self.limit


class RatioNearOne(Goal):
    """``tolerance`` is a share of the peer's figure."""

    tolerance: ClassVar[float]

    def met(self, samples: Samples) -> bool:
        """By the ratio, on either side of 1."""
        return samples.ratio is not None and abs(samples.ratio - 1) <= self.tolerance


class RatioAtLeast(Goal):
    """``factor`` times the peer's figure, or more."""

    factor: ClassVar[float]

    def met(self, samples: Samples) -> bool:
        """By the ratio."""
        return samples.ratio is not None and samples.ratio >= self.factor


class RatioAtMost(Goal):
    """``factor`` times the peer's figure, or less."""

    factor: ClassVar[float]

    def met(self, samples: Samples) -> bool:
        """By the ratio."""
        return samples.ratio is not None and samples.ratio <= self.factor
