"""How much goes through a wire: TCP, and small UDP packets in one direction."""

from __future__ import annotations

import statistics
from typing import ClassVar

from bench.goal import ROUNDS, Goal, Samples, alternate
from bench.wire_measure import measure

TCP_BPS = 3e9
TCP_RATIO = 2.5
SINGLE_PPS = 300_000.0
SUPER_PPS = 3_000_000.0


class WireTcp(Goal):
    """Super-packets at the nodes, wire packets in between."""

    name: ClassVar[str] = "wire-tcp"
    what: ClassVar[str] = "TCP through a wire without impairment, offloads on at the nodes"
    peer: ClassVar[str] = "the same wire with one read and one write a packet"
    unit: ClassVar[str] = "bit/s"
    goal: ClassVar[str] = "at least 3 Gbit/s, and 2.5 times the peer"

    def measure(self) -> Samples:
        """In turn."""
        return alternate(
            lambda: 1e9 * float(measure("tcp-offloads")["gbps"]),
            lambda: 1e9 * float(measure("tcp-per-packet")["gbps"]),
            ROUNDS,
        )

    def met(self, samples: Samples) -> bool:
        """Both."""
        ratio = samples.ratio or 0.0
        return statistics.median(samples.ours) >= TCP_BPS and ratio >= TCP_RATIO


class _Flood(Goal):
    """64-byte packets in one direction."""

    unit: ClassVar[str] = "packets/s"
    case: ClassVar[str]
    least_pps: ClassVar[float]

    def measure(self) -> Samples:
        """As fast as the sender goes."""
        return Samples(
            ours=[1e6 * float(measure(self.case)["delivered_mpps"]) for _ in range(ROUNDS)]
        )

    def met(self, samples: Samples) -> bool:
        """The median."""
        return statistics.median(samples.ours) >= self.least_pps


class WireSinglePackets(_Flood):
    """The sender hands over one packet at a time."""

    name: ClassVar[str] = "wire-single-packets"
    what: ClassVar[str] = "64-byte packets a second through a wire, handed over one by one"
    goal: ClassVar[str] = "at least 300,000 packets/s"
    case: ClassVar[str] = "udp-single"
    least_pps: ClassVar[float] = SINGLE_PPS


class WireSuperPackets(_Flood):
    """The sender hands over 64 at a time; each is decided on alone."""

    name: ClassVar[str] = "wire-super-packets"
    what: ClassVar[str] = "64-byte packets a second through a wire, handed over as super-packets"
    goal: ClassVar[str] = "at least 3,000,000 packets/s"
    case: ClassVar[str] = "udp-super"
    least_pps: ClassVar[float] = SUPER_PPS


class WireHalfLoad(Goal):
    """150,000 single packets a second, and 1,500,000 as super-packets."""

    name: ClassVar[str] = "wire-half-load"
    what: ClassVar[str] = "64-byte packets that are not delivered at half of those rates"
    unit: ClassVar[str] = "packets"
    goal: ClassVar[str] = "none"

    def measure(self) -> Samples:
        """Both kinds."""
        return Samples(ours=[_missing(case) for case in ("udp-single-half", "udp-super-half") * 2])

    def met(self, samples: Samples) -> bool:
        """Every time."""
        return not any(samples.ours)


def _missing(case: str) -> float:
    counts = measure(case)["ab"]
    lost = counts["received_packets"] - counts["delivered_packets"]
    return float(lost + counts["ring_full_packets"])
