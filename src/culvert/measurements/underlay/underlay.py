"""``underlay``: what an impaired link really does, measured with wire-sized packets on it.

A run does this by itself before each block, for each condition with an impairment. If asked and
delivered disagree, no trial of that condition counts in that block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from culvert.journal.record import Histogram
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.underlay.way import RATE_S, Way
from culvert.probe.results import RttResult, parse
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.traffic import Flow, InnerTraffic
from culvert.units import DurationS

DELAY_HISTOGRAM = "one_way_delay_ns"
"""Of each direction: its label."""
SAMPLE_ONE_IN = 16
PINGS = 40
PINGS_PPS = 200.0
PING_PAYLOAD_BYTES = 100
PING_PACKET_BYTES = PING_PAYLOAD_BYTES + 28


class UnderlayParameters(BaseParameters):
    """``duration`` of the stream in each direction."""

    duration_s: Annotated[DurationS, Field(gt=0)] = Field(1.0, alias="duration")


class Underlay(Measurement[UnderlayParameters]):
    """Loss, delay, order and rate of the link itself, each direction on its own."""

    kind: ClassVar[str] = "underlay"
    summary: ClassVar[str] = "what an impaired link delivers, beside what was asked of it"
    headline: ClassVar[str] = "delivered_loss_ratio"
    metrics: ClassVar[Mapping[str, str]] = {
        "delivered_loss_ratio": "1",
        "asked_loss_ratio": "1",
        "asked_delay_ms": "ms",
        "delivered_delay_ms": "ms",
        "delivered_delay_min_ms": "ms",
        "sent_packets": "packets",
        "reordered_packets": "packets",
        "duplicate_packets": "packets",
        "delivered_delay_p99_ms": "ms",
        "loss_runs": "runs",
        "asked_loss_run": "packets",
        "longest_loss_run": "packets",
        "asked_reordered_ratio": "1",
        "asked_duplicate_ratio": "1",
        "per_super_packet": "1",
        "oversize_arrived": "packets",
        "asked_rate_bps": "bit/s",
        "delivered_rate_bps": "bit/s",
    }
    Parameters = UnderlayParameters
    of_the_link: ClassVar[bool] = True

    @classmethod
    def estimate_s(cls, parameters: UnderlayParameters) -> float:
        """Seconds of one trial."""
        return 2 * (parameters.duration_s + RATE_S)

    def run(self, session: Session, parameters: UnderlayParameters) -> Outcome:
        """Both directions, one after the other."""
        impairment = session.link.impairment
        deaf = impairment.drops_udp
        with session.watch(sample_one_in=1 if deaf else SAMPLE_ONE_IN) as watched:
            ways = [
                Way("a to b", session, session.a, session.b, session.target, impairment.a_to_b),
                Way("b to a", session, session.b, session.a, session.source, impairment.b_to_a),
            ]
            for way in ways:
                way.measure(parameters.duration_s)
            there, back = ways
            # A link that drops UDP shows by ICMP that it carries anything at all.
            pings = _ping(session) if deaf else Flow(0, 0, PING_PACKET_BYTES)
        return Outcome(
            metrics=[metric for way in ways for metric in way.metrics()],
            watched=[watched],
            traffic=InnerTraffic(
                a_to_b_sent=_with(there.sent, pings),
                a_to_b_received=there.received,
                b_to_a_sent=_with(back.sent, pings),
                b_to_a_received=back.received,
            ),
            histograms=[
                Histogram(DELAY_HISTOGRAM, "ns", way.delays, {"direction": way.name})
                for way in ways
                if way.delays is not None
            ],
            doubts=[check for way in ways for check in way.checks()],
        )


def _ping(session: Session) -> Flow:
    """Echoes by ICMP: marked, so that the capture sees them."""
    found = parse(
        RttResult,
        session.a.call(
            "rtt",
            PINGS / PINGS_PPS + session.patience_ms(1000) / 1000 + 10,
            protocol="icmp",
            to=session.inner(session.target),
            rate_pps=PINGS_PPS,
            count=PINGS,
            payload_size=PING_PAYLOAD_BYTES,
            timeout_ms=session.patience_ms(500),
            **session.marks,
        ),
    )
    return Flow(found.sent, found.sent * PING_PACKET_BYTES, PING_PACKET_BYTES)


def _with(flow: Flow, other: Flow) -> Flow:
    return Flow(flow.packets + other.packets, flow.ip_bytes + other.ip_bytes)
