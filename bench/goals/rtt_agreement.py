"""Median round trip of the probe and of ping on the same rate-limited link.

A bare veth answers in 3 us, of which ping prints whole microseconds. So the packets are large, and
the link is a wire, which takes as long for each as its rate says: a token bucket would pass what
the rate sends in 2 ms at once, three of the largest packets at 1 Gbit/s. Then the two can be
compared to a fraction of a percent. The line for small packets on a bare veth stands beside it,
with ping's resolution as its limit.

Both are measured alone. In a trial there are captures beside the probe, for the proof: they delay
each of the 45 fragments of a large packet by 0.4 us.
"""

from __future__ import annotations

import re
import statistics
from typing import ClassVar

from bench.bare import bare_session
from bench.bounds import RatioNearOne
from bench.goal import ROUNDS, Samples, alternate
from bench.link import RATE_BPS, fast_link
from culvert.labs.base import Lab
from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.streams.packet import ICMP_HEADERS
from culvert.probe.results import RttResult, parse
from culvert.runid import new_run_id
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec

DEADLINE_S = 30.0


class RttAgreement(RatioNearOne):
    """ICMP echo of 40,000 bytes, 40 a second; the two are on the link for 6.5 ms."""

    name: ClassVar[str] = "rtt-agrees-with-ping"
    what: ClassVar[str] = "median round trip, ICMP of 40,000 bytes"
    peer: ClassVar[str] = "ping"
    unit: ClassVar[str] = "us"
    goal: ClassVar[str] = "ratio within 5 % of 1"
    tolerance: ClassVar[float] = 0.05
    programs: ClassVar[tuple[tuple[str, str], ...]] = (("ping", "iputils-ping"),)
    rate_bps: ClassVar[int] = RATE_BPS
    packet_size: ClassVar[int] = 40_000
    rate_pps: ClassVar[int] = 40
    probes: ClassVar[int] = 100

    def measure(self) -> Samples:
        """On one lab."""
        with self._lab() as lab:
            return alternate(lambda: self._probe(lab), lambda: self._ping(lab), ROUNDS)

    def _lab(self) -> Lab:
        link = LinkSpec(kind="wire", rate_bps=self.rate_bps)
        return NetnsLab(new_run_id(), LabSpec(link=link))

    def _probe(self, lab: Lab) -> float:
        """The instrument alone, as ping is: without the captures that a trial has beside it."""
        with bare_session(lab) as session:
            answer = session.a.call(
                "rtt",
                DEADLINE_S,
                protocol="icmp",
                to=str(lab.b.underlay.address.ip),
                rate_pps=self.rate_pps,
                count=self.probes,
                payload_size=self.packet_size - ICMP_HEADERS,
                timeout_ms=1000,
                spin_us=1000,  # as ping does
                **session.marks,
            )
        return (parse(RttResult, answer).p50_actual_ns or 0) / 1e3

    def _ping(self, lab: Lab) -> float:
        """Median of ping's own lines."""
        done = lab.a.run(
            [
                *("ping", "-n", "-i", str(1 / self.rate_pps), "-c", str(self.probes)),
                *("-s", str(self.packet_size - ICMP_HEADERS), str(lab.b.underlay.address.ip)),
            ],
            timeout_s=DEADLINE_S,
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
    """The largest packets."""

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

    def _lab(self) -> Lab:
        return fast_link()
