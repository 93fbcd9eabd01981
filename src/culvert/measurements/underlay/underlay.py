"""``underlay``: what an impaired link really delivers, measured with wire-sized packets.

A run does this by itself before each block, for each condition with an impairment. If the
requested and the delivered values disagree, no trial of that condition counts in that block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.parameters import Duration
from culvert.measurements.underlay.real import RealLink
from culvert.measurements.underlay.truths import way_truths
from culvert.measurements.underlay.way import LINK_METRICS, RATE_S, Way
from culvert.metrics import MetricSpec
from culvert.proof.known import KnownPath
from culvert.proof.truth import Truth
from culvert.results import Histogram
from culvert.trial.echo import Echo
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.traffic import Flow, InnerTraffic, add_flows

DELAY_HISTOGRAM = "one_way_delay_ns"
"""The histogram of each direction; the direction is its label."""
SAMPLE_ONE_IN = 16
PINGS = 40
PINGS_PPS = 200.0
PING_PAYLOAD_BYTES = 100
PING_PACKET_BYTES = PING_PAYLOAD_BYTES + 28


class UnderlayParameters(BaseParameters):
    """Parameters of the stream."""

    duration_s: Duration = 1.0
    """Duration of the stream in each direction."""


class Underlay(Measurement[UnderlayParameters]):
    """Loss, delay, order and rate of the link itself, each direction on its own."""

    kind: ClassVar[str] = "underlay"
    title: ClassVar[str] = "Underlay"
    summary: ClassVar[str] = "what an impaired link delivers, compared with the request"
    metrics: ClassVar[Sequence[MetricSpec]] = LINK_METRICS
    Parameters = UnderlayParameters
    of_the_link: ClassVar[bool] = True

    @classmethod
    def estimate_s(cls, parameters: UnderlayParameters) -> float:
        return 2 * (parameters.duration_s + RATE_S)

    @classmethod
    def truths(cls, known: KnownPath, parameters: UnderlayParameters) -> Sequence[Truth]:
        return way_truths(known, parameters.duration_s)

    def run(self, session: Session, parameters: UnderlayParameters) -> Outcome:
        if session.lab.real_links:
            return _as_it_is(session, parameters)
        impairment = session.link.impairment
        deaf = impairment.drops_udp
        with session.watch(sample_one_in=1 if deaf else SAMPLE_ONE_IN) as watched:
            ways = [Way(session, upward=upward) for upward in (True, False)]
            for way in ways:
                way.measure(parameters.duration_s)
            there, back = ways
            # On a link that drops UDP, ICMP shows that it carries packets at all.
            pings = _ping(session) if deaf else Flow(0, 0, PING_PACKET_BYTES)
        return Outcome(
            metrics=[metric for way in ways for metric in way.metrics()],
            watched=[watched],
            traffic=InnerTraffic(
                a_to_b_sent=add_flows(there.sent, pings),
                a_to_b_received=there.received,
                b_to_a_sent=add_flows(back.sent, pings),
                b_to_a_received=back.received,
            ),
            histograms=[
                Histogram(DELAY_HISTOGRAM, "ns", way.delays, {"direction": way.name})
                for way in ways
                if way.delays is not None
            ],
            doubts=[check for way in ways for check in way.checks()],
        )


def _as_it_is(session: Session, parameters: UnderlayParameters) -> Outcome:
    """A link between hosts."""
    link = RealLink(session)
    with session.watch(sample_one_in=SAMPLE_ONE_IN) as watched:
        link.measure(parameters.duration_s)
    return Outcome(metrics=link.metrics(), watched=[watched], doubts=link.checks())


def _ping(session: Session) -> Flow:
    """ICMP echoes with the canary, so that the capture sees them."""
    with Echo(session, idle_s=30) as echo:
        found = echo.rtt(
            rate_pps=PINGS_PPS,
            count=PINGS,
            payload_size=PING_PAYLOAD_BYTES,
            timeout_ms=session.patience_ms(500),
            protocol="icmp",
        )
    return Flow(found.sent, found.sent * PING_PACKET_BYTES, PING_PACKET_BYTES)
