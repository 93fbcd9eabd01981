"""TCP goodput of the probe and of iperf3 on the same rate-limited link."""

from __future__ import annotations

import json
from typing import ClassVar

from bench.bare import bare_session
from bench.bounds import RatioNearOne
from bench.goal import ROUNDS, Samples, alternate
from bench.link import RATE_BPS, SECONDS, limited_link
from culvert.labs.base import Lab
from culvert.measurements.tcp.tcp import Tcp, TcpParameters
from culvert.waiting import wait_until


class TcpAgreement(RatioNearOne):
    """Both use CUBIC and leave slow start out."""

    name: ClassVar[str] = "tcp-agrees-with-iperf3"
    what: ClassVar[str] = f"TCP goodput on a link of {RATE_BPS / 1e6:.0f} Mbit/s"
    rate_bps: ClassVar[int] = RATE_BPS
    peer: ClassVar[str] = "iperf3"
    unit: ClassVar[str] = "bit/s"
    goal: ClassVar[str] = "ratio within 2 % of 1"
    tolerance: ClassVar[float] = 0.02
    programs: ClassVar[tuple[tuple[str, str], ...]] = (("iperf3", "iperf3"),)

    def measure(self) -> Samples:
        """On one lab."""
        with limited_link(self.rate_bps) as lab:
            return alternate(lambda: _probe(lab), lambda: _iperf3(lab), ROUNDS)


class TcpAgreement10(TcpAgreement):
    """A slow link."""

    name: ClassVar[str] = "tcp-agrees-at-10"
    what: ClassVar[str] = "TCP goodput on a link of 10 Mbit/s"
    rate_bps: ClassVar[int] = 10_000_000


class TcpAgreement1000(TcpAgreement):
    """A fast link."""

    name: ClassVar[str] = "tcp-agrees-at-1000"
    what: ClassVar[str] = "TCP goodput on a link of 1000 Mbit/s"
    rate_bps: ClassVar[int] = 1_000_000_000


def _probe(lab: Lab) -> float:
    parameters = TcpParameters.model_validate({"duration": f"{SECONDS}s", "warmup": "1s"})
    with bare_session(lab) as session:
        outcome = Tcp().run(session, parameters)
    return next(metric.value for metric in outcome.metrics if metric.name == "goodput_bps")


def _iperf3(lab: Lab) -> float:
    address = str(lab.b.underlay.address.ip)
    server = lab.b.spawn(
        ["iperf3", "--server", "--one-off", "--bind", address, "--forceflush"], name="iperf3"
    )
    try:
        wait_until(lambda: "listening" in server.log_text(), what="iperf3's server", deadline_s=5)
        client = lab.a.run(
            [
                *("iperf3", "--client", address, "--time", str(SECONDS), "--omit", "1"),
                *("--congestion", "cubic", "--json"),
            ],
            timeout_s=SECONDS + 15,
        )
    finally:
        server.stop()
    goodput: float = json.loads(client.stdout)["end"]["sum_received"]["bits_per_second"]
    return goodput
