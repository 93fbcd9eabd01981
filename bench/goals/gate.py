"""Error rate and power of ``decide.gate``, of 2,000 simulated gates each."""

from __future__ import annotations

from collections.abc import Iterator
from math import log, sqrt
from typing import ClassVar

import numpy as np

from bench.goal import Goal, Samples
from bench.goals.statements import Rate
from culvert.decide.gate import Figure, Look, Outcome, gate
from culvert.metrics import Better
from culvert.statistics.values import Array

LOOKS = (8, 21, 53)
"""Blocks: about 45 s, 2 min and 5 min of the study ``gate``."""
SCATTER = 0.044
"""Of CPU seconds per gigabyte, beside what a block does to both builds."""
SHARED = 0.73
"""Its correlation with those of the probe."""


def simulated(rng: np.random.Generator, slow: float) -> tuple[Array, Array]:
    """Logarithms (build, block) of the figure and of its covariate."""
    machine = SCATTER * rng.standard_normal((2, LOOKS[-1]))
    own = SCATTER * rng.standard_normal((2, LOOKS[-1]))
    figure = SHARED * machine + sqrt(1 - SHARED**2) * own + 0.1 * rng.standard_normal(LOOKS[-1])
    figure[1] += log(1 + slow)
    return figure, machine


def blocks_until_slower(rng: np.random.Generator, slow: float) -> int | None:
    """Of a gate; None if its head is not called slower."""
    figure, machine = (np.exp(one) for one in simulated(rng, slow))
    for number, n in enumerate(LOOKS):
        made = Figure("cpu_vpn_s_per_gb", Better.LESS, *figure[:, :n], *machine[:, :n])
        if gate([made], Look(LOOKS, number))[0].outcome is Outcome.SLOWER:
            return n
    return None


class GateAlarms(Rate):
    """Equal heads."""

    name: ClassVar[str] = "gate-alarms"
    what: ClassVar[str] = "equal heads called slower at any look of 8, 21 and 53 blocks"
    goal: ClassVar[str] = "no interval wholly above 5 %"
    bound: ClassVar[float] = 0.05

    def cases(self) -> Iterator[tuple[str, int]]:
        """With the covariate."""
        rng = np.random.default_rng(1)
        yield "equal", sum(bool(blocks_until_slower(rng, 0)) for _ in range(self.studies))


class GatePower(Rate):
    """Slower heads."""

    name: ClassVar[str] = "gate-power"
    what: ClassVar[str] = "slower heads called so: by 5 % at 8 and 53 blocks, by 10 % at 8"
    goal: ClassVar[str] = "50, 90 and 90 %: no interval wholly below"
    bound: ClassVar[float] = 0.0
    at_least: ClassVar[bool] = True
    wanted: ClassVar[dict[tuple[float, int], float]] = {
        (0.05, 8): 0.5,
        (0.05, 53): 0.9,
        (0.10, 8): 0.9,
    }

    def cases(self) -> Iterator[tuple[str, int]]:
        """At most so many blocks."""
        for slow, most in self.wanted:
            rng = np.random.default_rng(most)
            found = [blocks_until_slower(rng, slow) for _ in range(self.studies)]
            yield f"{slow:.0%}, {most} blocks", sum(n is not None and n <= most for n in found)

    def met(self, samples: Samples) -> bool:
        """Each case has its bound."""
        bounds = self.wanted.values()
        return all(one["high"] >= bound for one, bound in zip(samples.details, bounds, strict=True))


GATES: tuple[type[Goal], ...] = (GateAlarms, GatePower)
