"""Median round trip of the probe and of ping on the same rate-limited link.

A bare veth answers in 3 us, of which ping prints whole microseconds. So the packets are large: the
link takes milliseconds to transmit them, and the two can be compared to a fraction of a percent.
The line for small packets stands beside it, with ping's resolution as its limit.
"""

from __future__ import annotations

import re
import statistics
from typing import ClassVar

from bench.goal import ROUNDS, Goal, Samples, alternate
from bench.link import RATE_BPS, limited_link
from culvert.labs.base import Lab
from culvert.measurements.packet import ICMP_HEADERS
from culvert.measurements.rtt import Rtt, RttParameters
from culvert.measurements.session import Session
from culvert.probe.client import Probe
from culvert.vpns import registry

TOLERANCE = 0.05


class RttAgreement(Goal):
    """ICMP echo of 40,000 bytes, 40 a second: more than the bucket of the rate limit holds."""

    name: ClassVar[str] = "rtt-agrees-with-ping"
    what: ClassVar[str] = "median round trip, ICMP of 40,000 bytes"
    peer: ClassVar[str] = "ping"
    unit: ClassVar[str] = "us"
    goal: ClassVar[str] = "ratio within 5 % of 1"
    programs: ClassVar[tuple[tuple[str, str], ...]] = (("ping", "iputils-ping"),)
    rate_bps: ClassVar[int] = RATE_BPS
    packet_size: ClassVar[int] = 40_000
    rate_pps: ClassVar[int] = 40
    probes: ClassVar[int] = 100

    def measure(self) -> Samples:
        """On one lab."""
        with limited_link(self.rate_bps) as lab:
            return alternate(lambda: self._probe(lab), lambda: self._ping(lab), ROUNDS)

    def met(self, samples: Samples) -> bool:
        """The ratio of the medians."""
        return samples.ratio is not None and abs(samples.ratio - 1) <= TOLERANCE

    def _probe(self, lab: Lab) -> float:
        vpn = registry.create(registry.parse("none"))
        parameters = RttParameters.model_validate(
            {
                "protocol": "icmp",
                "rate": f"{self.rate_pps}/s",
                "probes": self.probes,
                "packet_size": self.packet_size,
                "spin": "1ms",  # as ping does
            }
        )
        with Probe(lab.a) as a, Probe(lab.b) as b:
            outcome = Rtt().run(Session(lab, vpn, a, b, lab.spec.link), parameters)
        return next(
            metric.value for metric in outcome.metrics if metric.name == "rtt_actual_p50_us"
        )

    def _ping(self, lab: Lab) -> float:
        """Median of ping's own lines."""
        done = lab.a.run(
            [
                *("ping", "-n", "-i", str(1 / self.rate_pps), "-c", str(self.probes)),
                *("-s", str(self.packet_size - ICMP_HEADERS), str(lab.b.underlay.address.ip)),
            ],
            timeout_s=30,
        )
        times_ms = [float(found) for found in re.findall(r"time=([\d.]+) ms", done.stdout)]
        return statistics.median(times_ms) * 1000


class RttAgreement10(RttAgreement):
    """Slower than the slow link transmits one."""

    name: ClassVar[str] = "rtt-agrees-at-10"
    what: ClassVar[str] = "the same on a link of 10 Mbit/s"
    rate_bps: ClassVar[int] = 10_000_000
    rate_pps: ClassVar[int] = 10
    probes: ClassVar[int] = 40


class RttAgreement1000(RttAgreement):
    """The largest packets, faster than the bucket fills."""

    name: ClassVar[str] = "rtt-agrees-at-1000"
    what: ClassVar[str] = "median round trip, ICMP of 65,000 bytes on a link of 1000 Mbit/s"
    rate_bps: ClassVar[int] = 1_000_000_000
    packet_size: ClassVar[int] = 65_000
    rate_pps: ClassVar[int] = 400
    probes: ClassVar[int] = 1000


class SmallRttAgreement(RttAgreement):
    """ICMP echo of 84 bytes, 1,000 a second."""

    name: ClassVar[str] = "small-rtt-beside-ping"
    what: ClassVar[str] = "median round trip, ICMP of 84 bytes; ping prints whole us"
    goal: ClassVar[str] = "within 5 %, or ping's 1 us"
    packet_size: ClassVar[int] = 84
    rate_pps: ClassVar[int] = 1000
    probes: ClassVar[int] = 2000

    def met(self, samples: Samples) -> bool:
        """As above, or no further apart than ping can tell."""
        apart_us = abs(statistics.median(samples.ours) - statistics.median(samples.peer))
        return super().met(samples) or apart_us <= 1.0
