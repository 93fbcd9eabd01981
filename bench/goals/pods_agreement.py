"""Figures of the probe between pods beside those of iperf3 and hey in the same pods."""

from __future__ import annotations

import json
import statistics
from typing import Any, ClassVar

from bench.awake import awake
from bench.bounds import RatioNearOne
from bench.goal import ROUNDS, Samples, alternate
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


class ApiAgreement(RatioNearOne):
    """From the same pod, on processors that stay awake: hey wakes up more threads for a request
    than the probe, which a sleeping processor shows and the answer does not. The first request of
    each is left out, because it opens the connection."""

    name: ClassVar[str] = "k8s-api-agrees-with-hey"
    what: ClassVar[str] = f"median response of the API at 500/s over {VPN}"
    peer: ClassVar[str] = "hey"
    unit: ClassVar[str] = "ms"
    goal: ClassVar[str] = "ratio within 5 % of 1"
    tolerance: ClassVar[float] = 0.05
    rate_per_s: ClassVar[int] = 500
    requests: ClassVar[int] = 1000

    def measure(self) -> Samples:
        """In turn."""
        with pods_over(VPN, LabSpec()) as session, awake():
            return alternate(
                lambda: self._median_ms(session, ApiInstrument.PROBE),
                lambda: self._median_ms(session, ApiInstrument.HEY),
                ROUNDS,
            )

    def _median_ms(self, session: Session[Any], instrument: ApiInstrument) -> float:
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


class ApiAgreementAtThePapersRate(ApiAgreement):
    """The same; without them awake the probe's median is lower: see docs/kubernetes.md."""

    name: ClassVar[str] = "k8s-api-agrees-with-hey-at-10"
    what: ClassVar[str] = f"median response of the API at 10/s over {VPN}"
    rate_per_s: ClassVar[int] = 10
    requests: ClassVar[int] = 100


def _probe(session: Session[Any]) -> float:
    parameters = TcpParameters.model_validate({"duration": f"{SECONDS}s", "warmup": "1s"})
    outcome = Tcp().run(session, parameters)
    return next(metric.value for metric in outcome.metrics if metric.name == "goodput_bps")


def _iperf3(session: Session[Any]) -> float:
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
