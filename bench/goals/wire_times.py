"""How exactly a wire keeps time: delay, and what it adds where none is requested."""

from __future__ import annotations

import statistics
from functools import cache
from typing import Any, ClassVar

from bench.bounds import MedianBelow
from bench.goal import ROUNDS, Goal, Samples, alternate
from bench.wire_measure import measure

MEDIAN_US = 100.0
P99_US = 500.0
ADDED_US = 30.0


class _DelayError(MedianBelow):
    """10,000 packets a second through 50 ms."""

    unit: ClassVar[str] = "us"
    figure: ClassVar[str]

    def measure(self) -> Samples:
        """Above what was requested; both figures are of the same packets."""
        return Samples(ours=[float(one[self.figure]) for one in _delays()])


class WireDelayMedian(_DelayError):
    """Half of the packets."""

    name: ClassVar[str] = "wire-delay-median"
    what: ClassVar[str] = "median error of a delay of 50 ms at 10,000 packets/s"
    goal: ClassVar[str] = "under 0.1 ms"
    figure: ClassVar[str] = "error_p50_us"
    limit: ClassVar[float] = MEDIAN_US


class WireDelayTail(_DelayError):
    """All but one in a hundred."""

    name: ClassVar[str] = "wire-delay-p99"
    what: ClassVar[str] = "99th percentile of that error"
    goal: ClassVar[str] = "under 0.5 ms"
    figure: ClassVar[str] = "error_p99_us"
    limit: ClassVar[float] = P99_US


class WireRtt(Goal):
    """A ping-pong of 64-byte packets."""

    name: ClassVar[str] = "wire-rtt"
    what: ClassVar[str] = "median round trip through a wire without impairment"
    peer: ClassVar[str] = "a veth"
    unit: ClassVar[str] = "us"
    goal: ClassVar[str] = "under 30 us more than the peer"

    def measure(self) -> Samples:
        """In turn."""
        return alternate(
            lambda: float(measure("rtt")["p50_us"]),
            lambda: float(measure("rtt-veth")["p50_us"]),
            ROUNDS,
        )

    def met(self, samples: Samples) -> bool:
        """Of medians."""
        added = statistics.median(samples.ours) - statistics.median(samples.peer)
        return added < ADDED_US


@cache
def _delays() -> tuple[dict[str, Any], ...]:
    return tuple(measure("delay") for _ in range(ROUNDS))
