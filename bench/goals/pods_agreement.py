"""Figures of the probe between pods beside those of iperf3 and hey in the same pods."""

from __future__ import annotations

import json
import statistics
from typing import ClassVar

from bench.bounds import RatioAtMost, RatioNearOne
from bench.goal import ROUNDS, Goal, Samples, alternate
from bench.link import RATE_BPS, SECONDS
from bench.pods import pods_over
from culvert.measurements.kubernetes.k8s_api import ApiInstrument, K8sApi, K8sApiParameters
from culvert.measurements.tcp.tcp import Tcp, TcpParameters
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from culvert.trial.session import Session

VPN = "wireguard/go"
HEY_STEP_MS = 0.1
"""hey prints seconds with four decimals."""


class PodTcpAgreement(RatioNearOne):
    """Both use CUBIC and leave slow start out."""

    name: ClassVar[str] = "pod-tcp-agrees-with-iperf3"
    what: ClassVar[str] = f"TCP goodput pod to pod, links of {RATE_BPS / 1e6:.0f} Mbit/s"
    peer: ClassVar[str] = "iperf3"
    unit: ClassVar[str] = "bit/s"
    goal: ClassVar[str] = "ratio within 2 % of 1"
    tolerance: ClassVar[float] = 0.02

    def measure(self) -> Samples:
        """In the same pods."""
        spec = LabSpec(link=LinkSpec(rate_bps=RATE_BPS))
        with pods_over("none", spec) as session:
            return alternate(lambda: _probe(session), lambda: _iperf3(session), ROUNDS)


class _ApiBesideHey(Goal):
    """From the same pod; the first request of each is left out, because it opens the connection."""

    unit: ClassVar[str] = "ms"
    peer: ClassVar[str] = "hey"
    rate_per_s: ClassVar[int]
    requests: ClassVar[int]

    def measure(self) -> Samples:
        """In turn."""
        with pods_over(VPN, LabSpec()) as session:
            return alternate(
                lambda: self._median_ms(session, ApiInstrument.PROBE),
                lambda: self._median_ms(session, ApiInstrument.HEY),
                ROUNDS,
            )

    def _median_ms(self, session: Session, instrument: ApiInstrument) -> float:
        """Of values that are rounded to steps it is interpolated within its step."""
        given = {
            "requests": self.requests,
            "rate": f"{self.rate_per_s}/s",
            "instrument": instrument,
        }
        outcome = K8sApi().run(session, K8sApiParameters.model_validate(given))
        (series,) = (one for one in outcome.series if one.name == "response_ms")
        times_ms = series.values[1:]
        if instrument is ApiInstrument.PROBE:
            return statistics.median(times_ms)
        return statistics.median_grouped(times_ms, HEY_STEP_MS)


class ApiAgreement(_ApiBesideHey, RatioNearOne):
    """At a rate that keeps the processors awake, so that the programs' own time is small."""

    name: ClassVar[str] = "k8s-api-agrees-with-hey"
    what: ClassVar[str] = f"median response of the API at 500/s over {VPN}"
    goal: ClassVar[str] = "ratio within 5 % of 1"
    tolerance: ClassVar[float] = 0.05
    rate_per_s: ClassVar[int] = 500
    requests: ClassVar[int] = 1000


class ApiAtThePapersRate(_ApiBesideHey, RatioAtMost):
    """Between two requests the processors fall asleep, and hey's threads take longer to wake up
    than the probe's: see docs/kubernetes.md for the times on the pod's interface."""

    name: ClassVar[str] = "k8s-api-beside-hey-at-10"
    what: ClassVar[str] = f"median response of the API at 10/s over {VPN}"
    goal: ClassVar[str] = "shown beside k8s-api-agrees-with-hey; at or below"
    factor: ClassVar[float] = 1
    rate_per_s: ClassVar[int] = 10
    requests: ClassVar[int] = 100


def _probe(session: Session) -> float:
    parameters = TcpParameters.model_validate({"duration": f"{SECONDS}s", "warmup": "1s"})
    outcome = Tcp().run(session, parameters)
    return next(metric.value for metric in outcome.metrics if metric.name == "goodput_bps")


def _iperf3(session: Session) -> float:
    to = str(session.inner(session.target))
    server = session.target.spawn(
        ["iperf3", "--server", "--one-off", "--forceflush"], name="iperf3"
    )
    try:
        while b"listening" not in server.stdout.readline():
            if not server.alive():
                raise ValueError(f"iperf3's server has ended: {server.log_text()}")
        client = session.source.run(
            [
                *("iperf3", "--client", to, "--time", str(SECONDS), "--omit", "1"),
                *("--congestion", "cubic", "--json"),
            ],
            timeout_s=SECONDS + 15,
        )
    finally:
        server.stop()
    goodput: float = json.loads(client.stdout)["end"]["sum_received"]["bits_per_second"]
    return goodput
