"""Median round trip of the probe and of ping on the same rate-limited link."""

from __future__ import annotations

import re
import statistics
from typing import ClassVar

from bench.goal import ROUNDS, Goal, Samples, alternate
from bench.link import limited_link
from culvert.labs.base import Lab
from culvert.measurements.rtt import Rtt, RttParameters
from culvert.measurements.session import Session
from culvert.probe.client import Probe
from culvert.vpns import registry

TOLERANCE = 0.05
PROBES = 2000
RATE_PPS = 1000


class RttAgreement(Goal):
    """ICMP echo of 84-byte packets, 1,000 a second."""

    name: ClassVar[str] = "rtt-agrees-with-ping"
    what: ClassVar[str] = "median round trip, ICMP"
    peer: ClassVar[str] = "ping"
    unit: ClassVar[str] = "us"
    goal: ClassVar[str] = "ratio within 5 % of 1"
    programs: ClassVar[tuple[tuple[str, str], ...]] = (("ping", "iputils-ping"),)

    def measure(self) -> Samples:
        """On one lab."""
        with limited_link() as lab:
            return alternate(lambda: _probe(lab), lambda: _ping(lab), 2 * ROUNDS + 1)

    def met(self, samples: Samples) -> bool:
        """The ratio of the medians."""
        return samples.ratio is not None and abs(samples.ratio - 1) <= TOLERANCE


def _probe(lab: Lab) -> float:
    vpn = registry.create(registry.parse("none"))
    parameters = RttParameters(protocol="icmp", rate=RATE_PPS, probes=PROBES)
    with Probe(lab.a) as a, Probe(lab.b) as b:
        outcome = Rtt().run(Session(lab, vpn, a, b, lab.spec.link), parameters)
    return next(metric.value for metric in outcome.metrics if metric.name == "rtt_p50_us")


def _ping(lab: Lab) -> float:
    """Median of ping's own lines, which have three digits of a millisecond's fraction."""
    done = lab.a.run(
        ["ping", "-n", "-i", str(1 / RATE_PPS), "-c", str(PROBES), str(lab.b.underlay.address.ip)],
        timeout_s=30,
    )
    times_ms = [float(found) for found in re.findall(r"time=([\d.]+) ms", done.stdout)]
    return statistics.median(times_ms) * 1000
