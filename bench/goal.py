"""A goal: what is measured, beside whom, and when it is met."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.stats import trim_mean

from bench.calm import stolen_s
from culvert.statistics.values import Array
from culvert.trial.surroundings import MOST_STOLEN

CONFIDENCE = 0.95
SPEEDS = frozenset({"s", "us", "bit/s", "packets/s"})
"""Units of what other programs at work change."""
RESAMPLES = 5000
ROUNDS = 5
RECOVERY_S = 5.0
"""A host that lends processors for bursts takes them back after one, and lends them again later."""


@dataclass
class Samples:
    """Values of both contestants, round by round; ``peer`` is empty where there is none.

    ``details`` is what else is to be kept in results.json.
    """

    ours: list[float] = field(default_factory=list)
    peer: list[float] = field(default_factory=list)
    details: list[dict[str, Any]] = field(default_factory=list)

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

    @property
    def of_speed(self) -> bool:
        """Whether it holds on a calm machine only."""
        return self.unit in SPEEDS

    @abstractmethod
    def measure(self) -> Samples:
        """Alternate between ours and the peer."""

    @abstractmethod
    def met(self, samples: Samples) -> bool:
        """Whether the goal is met."""

    def failed(self, samples: Samples) -> list[str]:
        """The parts that failed, where the median does not show it."""
        del samples
        return []


def alternate(
    ours: Callable[[], float], peer: Callable[[], float], rounds: int, *, spare: int = 0
) -> Samples:
    """Rounds of both, the first in turn, so that drift spoils neither.

    With up to ``spare`` further rounds, those are left out in which the host took most time from
    this machine, and a pause follows each such round; there are none once enough rounds were calm.
    """
    found: list[_Round] = []
    while len(found) < rounds + spare and sum(one.calm for one in found) < rounds:
        begun, before_s = time.monotonic(), stolen_s()
        values = {mine: ours() if mine else peer() for mine in _order(len(found))}
        stolen = (stolen_s() - before_s) / (time.monotonic() - begun)
        found.append(_Round(values[True], values[False], stolen / (os.cpu_count() or 1)))
        if spare and not found[-1].calm:
            time.sleep(RECOVERY_S)
    most = sorted(one.stolen for one in found)[:rounds][-1]
    kept = [one for one in found if one.stolen <= most][:rounds]
    return Samples([one.ours for one in kept], [one.peer for one in kept])


@dataclass(frozen=True)
class _Round:
    """``stolen`` is a share of the machine's time."""

    ours: float
    peer: float
    stolen: float

    @property
    def calm(self) -> bool:
        return self.stolen <= MOST_STOLEN


def _order(number: int) -> Iterator[bool]:
    yield number % 2 == 0
    yield number % 2 == 1
