"""A goal: what is measured, beside whom, and when it is met."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.stats import trim_mean

from culvert.statistics.values import Array

CONFIDENCE = 0.95
RESAMPLES = 5000
ROUNDS = 5


@dataclass
class Samples:
    """Values of both contestants, round by round; ``peer`` is empty where there is none.

    ``details`` is what else is to be kept in results.json.
    """

    ours: list[float] = field(default_factory=list)
    peer: list[float] = field(default_factory=list)
    details: list[dict[str, Any]] = field(default_factory=list)

    def __add__(self, more: Samples) -> Samples:
        """The rounds of both, in their order."""
        return Samples(self.ours + more.ours, self.peer + more.peer, [*self.details, *more.details])

    @property
    def ratio(self) -> float | None:
        """Ours over the peer's, of a typical round: the middle half of the rounds' ratios, averaged
        as logarithms. What drifts from round to round cancels."""
        if not self.peer:
            return None
        return float(np.exp(_midmean(self._logarithms())))

    @property
    def interval(self) -> tuple[float, float] | None:
        """Percentile bootstrap interval of the ratio, over rounds."""
        if len(self.peer) < 3:
            return None
        size = (RESAMPLES, len(self.peer))
        rounds = np.random.default_rng(1).integers(0, len(self.peer), size=size)
        ratios = np.exp(_midmean(self._logarithms()[rounds]))
        low, high = np.quantile(ratios, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        return float(low), float(high)

    def _logarithms(self) -> Array:
        """Of the ratio of each round."""
        with np.errstate(divide="ignore"):  # of nothing: a ratio of 0
            found: Array = np.log(np.array(self.ours) / np.array(self.peer))
        return found


def _midmean(values: Array) -> Array:
    """Mean of the middle half, along the last axis."""
    return np.asarray(trim_mean(values, 0.25, axis=-1), dtype=np.float64)


class Goal(ABC):
    """One line of the bench. A class a goal, found by ``bench.goals``."""

    name: ClassVar[str]
    what: ClassVar[str]
    peer: ClassVar[str] = ""
    unit: ClassVar[str]
    goal: ClassVar[str]
    """The goal in words."""
    programs: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Programs that it needs, each with the Debian package that has it."""
    vpns: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def measure(self) -> Samples:
        """Alternate between ours and the peer."""

    @abstractmethod
    def met(self, samples: Samples) -> bool:
        """Whether the goal is met."""


def alternate(ours: Callable[[], float], peer: Callable[[], float], rounds: int) -> Samples:
    """Rounds of both, the first in turn, so that drift spoils neither."""
    samples = Samples()
    for number in range(rounds):
        for mine in _order(number):
            if mine:
                samples.ours.append(ours())
            else:
                samples.peer.append(peer())
    return samples


def _order(number: int) -> Iterator[bool]:
    yield number % 2 == 0
    yield number % 2 == 1
