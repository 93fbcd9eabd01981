"""``rtt``: round trips on an open-loop schedule (no coordinated omission) in HDR histograms.

RFC 2681. The time of a probe counts from the moment at which the schedule wanted it sent, so that a
stall delays the answers that it should delay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from culvert.journal.record import Histogram, Metric
from culvert.measurements.base import BaseParameters, Measurement, Outcome
from culvert.measurements.integrity import intact
from culvert.measurements.packet import SMALLEST, UDP_HEADERS
from culvert.measurements.session import Session
from culvert.probe.results import RttResult, parse
from culvert.proof.check import Check
from culvert.proof.traffic import Flow, InnerTraffic
from culvert.units import DurationNs, PerSecond

TIMEOUT_MS = 1000
MAX_LOSS = 0.5
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}


class RttParameters(BaseParameters):
    """``probes`` echo requests at ``rate`` per second; ``packet_size`` is the inner IP packet."""

    protocol: Literal["udp", "icmp"] = "udp"
    rate_pps: Annotated[PerSecond, Field(gt=0)] = Field(1000, alias="rate")
    probes: Annotated[int, Field(ge=10, le=10_000_000)] = 10_000
    packet_size: Annotated[int, Field(ge=SMALLEST, le=65535)] = 84
    """84 bytes, as ping sends by default."""
    spin_ns: Annotated[DurationNs, Field(le=1_000_000_000)] = Field(100_000, alias="spin")
    """The sender looks at the clock without sleeping for so long before each probe is due."""


class Rtt(Measurement[RttParameters]):
    """Echo requests from node a to node b."""

    kind: ClassVar[str] = "rtt"
    summary: ClassVar[str] = "round-trip time percentiles by UDP or ICMP echo"
    headline: ClassVar[str] = "rtt_p50_us"
    metrics: ClassVar[Mapping[str, str]] = {
        "probes_sent": "packets",
        "probes_lost": "packets",
        "loss_ratio": "1",
        "rtt_min_us": "us",
        "rtt_mean_us": "us",
        "rtt_p50_us": "us",
        "rtt_p90_us": "us",
        "rtt_p99_us": "us",
        "rtt_p99_9_us": "us",
        "rtt_max_us": "us",
        "rtt_actual_p50_us": "us",
        "schedule_error_p99_us": "us",
    }
    Parameters = RttParameters

    @classmethod
    def estimate_s(cls, parameters: RttParameters) -> float:
        """Seconds of one trial."""
        return parameters.probes / parameters.rate_pps

    def run(self, session: Session, parameters: RttParameters) -> Outcome:
        """Send the schedule, wait for the last answers."""
        seconds = self.estimate_s(parameters)
        echo = None
        to: dict[str, Any] = {"to": session.inner(session.lab.b)}
        if parameters.protocol == "udp":
            echo = session.b.begin(
                "echo",
                bind=session.inner(session.lab.b),
                token=session.token,
                idle_s=seconds + 15,
            )
            to["port"] = echo.port()
        with session.watch(sample_one_in=1) as watched:
            found = parse(
                RttResult,
                session.a.call(
                    "rtt",
                    seconds + session.patience_ms(TIMEOUT_MS) / 1000 + 10,
                    protocol=parameters.protocol,
                    rate_pps=parameters.rate_pps,
                    count=parameters.probes,
                    payload_size=parameters.packet_size - UDP_HEADERS,
                    timeout_ms=session.patience_ms(TIMEOUT_MS),
                    spin_us=parameters.spin_ns // 1000,
                    **to,
                    **session.marks,
                ),
            )
        if echo is not None:
            echo.stop()
        size = parameters.packet_size
        there, back = Flow(found.sent, found.sent * size, size), _flow(found.received, size)
        return Outcome(
            metrics=_metrics(found),
            watched=[watched],
            traffic=InnerTraffic(
                a_to_b_sent=there, a_to_b_received=back, b_to_a_sent=there, b_to_a_received=back
            ),
            histograms=[Histogram("rtt_ns", "ns", found.histogram)] if found.histogram else [],
            doubts=[_answered(found), intact(found.corrupt)],
        )


def _flow(packets: int, size: int) -> Flow:
    return Flow(packets, packets * size, size)


def _metrics(found: RttResult) -> list[Metric]:
    metrics = [
        Metric("probes_sent", "packets", found.sent),
        Metric("probes_lost", "packets", found.lost),
        Metric("loss_ratio", "1", found.lost / max(found.sent, 1)),
    ]
    for name in ("min", "mean", *PERCENTILES, "max"):
        value = getattr(found, f"{name}_ns")
        # Rounded, because 10 * (1 - 0.9) is a little less than 1.
        enough = round(found.received * (1 - PERCENTILES.get(name, 0.0)), 6) >= 1
        if value is not None and enough:
            metrics.append(Metric(f"rtt_{name}_us", "us", value / 1e3))
    if found.p50_actual_ns is not None:
        metrics.append(Metric("rtt_actual_p50_us", "us", found.p50_actual_ns / 1e3))
    if found.schedule_error_p99_ns is not None:
        metrics.append(Metric("schedule_error_p99_us", "us", found.schedule_error_p99_ns / 1e3))
    return metrics


def _answered(found: RttResult) -> Check:
    loss = found.lost / max(found.sent, 1)
    return Check(
        "most probes are answered",
        found.received > 0 and loss <= MAX_LOSS,
        f"{found.received} of {found.sent} probes were answered",
        "percentiles of the few that came back would flatter: lower the rate",
    )
