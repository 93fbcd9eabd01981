"""A goal: what is measured, beside whom, and when it is met."""

from __future__ import annotations

import statistics
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

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
        """Median of ours over median of the peer's."""
        if not self.peer:
            return None
        return statistics.median(self.ours) / statistics.median(self.peer)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Percentile bootstrap interval of the ratio, rounds resampled as pairs."""
        if len(self.peer) < 3:
            return None
        rounds = np.random.default_rng(1).integers(
            0, len(self.peer), size=(RESAMPLES, len(self.peer))
        )
        ours, peer = np.array(self.ours), np.array(self.peer)
        ratios = np.median(ours[rounds], axis=1) / np.median(peer[rounds], axis=1)
        low, high = np.quantile(ratios, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        return float(low), float(high)


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
