"""A wire's losses: as many as requested, and the same again with the same seed."""

from __future__ import annotations

from typing import ClassVar

from scipy.stats import binomtest

from bench.goal import Goal, Samples
from bench.wire_measure import measure

LOSS = 0.01
LEVEL = 0.99


class WireLoss(Goal):
    """1 % of 1,000,000 packets; the case runs it twice with one seed."""

    name: ClassVar[str] = "wire-loss"
    what: ClassVar[str] = "losses of 1,000,000 packets at 1 %"
    unit: ClassVar[str] = "packets"
    goal: ClassVar[str] = "within the 99 % interval, the same packets with the same seed"

    def measure(self) -> Samples:
        """How many were lost; -1 where the second time differs."""
        found = measure("loss")
        lost = float(found["lost"]) if found["same_again"] else -1.0
        self._packets = int(found["packets"])
        return Samples(ours=[lost])

    def met(self, samples: Samples) -> bool:
        """The requested share is in the interval of what was seen."""
        lost = int(samples.ours[0])
        if lost < 0:
            return False
        interval = binomtest(lost, self._packets).proportion_ci(LEVEL)
        return bool(interval.low <= LOSS <= interval.high)


class WireMemory(Goal):
    """1 Gbit/s held for 350 ms."""

    name: ClassVar[str] = "wire-memory"
    what: ClassVar[str] = "memory of a wire that holds 1 Gbit/s for 350 ms"
    unit: ClassVar[str] = "bytes"
    goal: ClassVar[str] = "under 200 MB, without loss"

    def measure(self) -> Samples:
        """The highest that was seen; none below any limit where packets were lost."""
        found = measure("memory")
        self._lost = found["overrun"] + found["ring_full"]
        return Samples(ours=[1e6 * float(found["highest_mb"])])

    def met(self, samples: Samples) -> bool:
        """Both."""
        return samples.ours[0] < 200e6 and not self._lost
