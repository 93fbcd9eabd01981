"""A wire's rate: over 10 s, and never above it in any 10 ms."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from bench.goal import Goal, Samples
from bench.wire_measure import measure

CASES = ("rate-100m", "rate-1g")
MOST_PERCENT = 0.5
ROUNDS = 3


class WireRate(Goal):
    """100 Mbit/s and 1 Gbit/s, flooded at 1.1 times that; the kernel stamps arrivals."""

    name: ClassVar[str] = "wire-rate"
    what: ClassVar[str] = "error of a rate of 100 Mbit/s or 1 Gbit/s over 10 s, per cent"
    unit: ClassVar[str] = "%"
    goal: ClassVar[str] = "at most 0.5 % in each round"

    def measure(self) -> Samples:
        """Each rate in turn."""
        return Samples(ours=[abs(float(one["error_percent"])) for one in _rounds()])

    def met(self, samples: Samples) -> bool:
        """Every time."""
        return max(samples.ours) <= MOST_PERCENT

    def failed(self, samples: Samples) -> list[str]:
        """Rounds with a greater error."""
        return [
            f"{case}, round {number // len(CASES) + 1}: {error:.3f} %"
            for number, (case, error) in enumerate(zip(CASES * ROUNDS, samples.ours, strict=True))
            if error > MOST_PERCENT
        ]


class WireBurst(Goal):
    """The fullest of all windows of 10 ms."""

    name: ClassVar[str] = "wire-burst"
    what: ClassVar[str] = "packets in any 10 ms beyond what the rate and one packet allow"
    unit: ClassVar[str] = "packets"
    goal: ClassVar[str] = "none"

    def measure(self) -> Samples:
        """From the same runs."""
        beyond = (one["fullest_10ms_packets"] - float(one["allowed"]) for one in _rounds())
        return Samples(ours=[max(packets, 0.0) for packets in beyond])

    def met(self, samples: Samples) -> bool:
        """Every time."""
        return not any(samples.ours)


@cache
def _rounds() -> tuple[dict[str, Any], ...]:
    return tuple(measure(case) for case in CASES * ROUNDS)
