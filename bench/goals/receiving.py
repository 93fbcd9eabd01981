"""What a receiver loses in its socket, and what it spends on what it gets."""

from __future__ import annotations

import math
import statistics
from typing import ClassVar

from bench.bounds import RatioAtLeast
from bench.floods import PACKAGES, SECONDS, Flood, iperf3_flood, probe_flood
from bench.goal import ROUNDS, Goal, Samples, alternate
from bench.link import fast_link, one_core_link
from culvert.errors import NotPossible
from culvert.labs.base import Lab

LOST = 0.10
"""Share that iperf3's receiver loses at the rate at which both are compared."""
LOWEST_PPS = 20_000
STEPS = 6
RAISES = 4
RAISE = 1.25


class ReceiverLoss(Goal):
    """At the rate at which iperf3's own receiver, fed by iperf3, loses 10 % or more.

    It is searched for in single runs, and is raised until the median of the rounds loses so much.
    Where a core for each node is enough for iperf3 at full speed, both nodes have to share one.
    """

    name: ClassVar[str] = "receiver-loss"
    what: ClassVar[str] = "share lost in the receiver's socket where iperf3 loses 10 %"
    peer: ClassVar[str] = "iperf3"
    unit: ClassVar[str] = "1"
    goal: ClassVar[str] = "nothing"
    programs: ClassVar[tuple[tuple[str, str], ...]] = (PACKAGES["iperf3"],)

    def measure(self) -> Samples:
        """Bisect for the rate, then compare on one lab."""
        for link in (fast_link, one_core_link):
            with link() as lab:
                rate_pps = _losing_rate(lab)
                if rate_pps is not None:
                    return _compare_from(lab, rate_pps)
        raise NotPossible(
            "receiver-loss", "iperf3 loses less than 10 % at full speed", "nothing to compare"
        )

    def met(self, samples: Samples) -> bool:
        """The median, where iperf3 lost as much as it should."""
        lost = statistics.median(samples.peer)
        return lost >= LOST and statistics.median(samples.ours) == 0


class ReceiverCpu(RatioAtLeast):
    """Each fed by its own sender at full speed."""

    name: ClassVar[str] = "receiver-cpu"
    what: ClassVar[str] = "64-byte packets per CPU-second of the receiver"
    peer: ClassVar[str] = "iperf3"
    unit: ClassVar[str] = "packets/s"
    goal: ClassVar[str] = "at least 2 times"
    factor: ClassVar[float] = 2
    programs: ClassVar[tuple[tuple[str, str], ...]] = (PACKAGES["iperf3"],)

    def measure(self) -> Samples:
        """On one lab."""
        with fast_link() as lab:
            return alternate(
                lambda: probe_flood(lab).received_per_cpu_s,
                lambda: iperf3_flood(lab).received_per_cpu_s,
                ROUNDS,
            )


def _compare(lab: Lab, rate_pps: float) -> Samples:
    return alternate(
        lambda: _lost(probe_flood(lab, rate_pps=rate_pps)),
        lambda: _lost(iperf3_flood(lab, rate_pps=rate_pps)),
        ROUNDS,
    )


def _compare_from(lab: Lab, rate_pps: float) -> Samples:
    for _ in range(RAISES):
        samples = _compare(lab, rate_pps)
        if statistics.median(samples.peer) >= LOST:
            break
        rate_pps *= RAISE
    return samples


def _losing_rate(lab: Lab) -> float | None:
    """Packets per second at which iperf3 loses about 10 %: bisection in logarithms. None if it
    does not even at full speed.

    By the rate that it really sent, which is not always the requested one.
    """
    full = iperf3_flood(lab)
    if _lost(full) < LOST:
        return None
    low, high = float(LOWEST_PPS), full.sent / SECONDS
    for _ in range(STEPS):
        middle = math.sqrt(low * high)
        tried = iperf3_flood(lab, rate_pps=middle)
        if _lost(tried) >= LOST:
            high = min(high, tried.sent / SECONDS)
        else:
            low = middle
        if low >= high:
            break
    return high


def _lost(flood: Flood) -> float:
    return (flood.socket_drops or 0) / max(flood.sent, 1)
