"""``underlay``: what an impaired link really does, measured with wire-sized packets on it.

A run does this by itself before each block, for each condition with an impairment. If asked and
delivered disagree, no trial of that condition counts in that block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from culvert.journal.record import Metric
from culvert.labs.base import Node
from culvert.labs.impairment import OneWay
from culvert.measurements.base import BaseParameters, Measurement, Outcome
from culvert.measurements.packet import UDP_HEADERS
from culvert.measurements.session import Session
from culvert.probe.client import Probe
from culvert.probe.results import UdpSource, UdpSunk, parse
from culvert.proof.check import Check
from culvert.proof.traffic import Flow, InnerTraffic
from culvert.proof.underlay import Delivered, asked_loss, judge_direction
from culvert.units import DurationS

ETHERNET_HEADER = 14
SAMPLE_ONE_IN = 16
FASTEST_PPS = 5000.0
RATE_SHARE = 0.5
"""Of the link's rate, so that no queue builds up while loss and delay are looked at."""
OVERLOAD = 1.2
RATE_S = 0.5
RATE_PACKETS = 100
MEASURABLE_BPS = 1_200_000_000
"""Faster rates than this are the generator's own limit on small machines."""


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
        "asked_rate_bps": "bit/s",
        "delivered_rate_bps": "bit/s",
    }
    Parameters = UnderlayParameters

    @classmethod
    def estimate_s(cls, parameters: UnderlayParameters) -> float:
        """Seconds of one trial."""
        return 2 * (parameters.duration_s + RATE_S)

    def run(self, session: Session, parameters: UnderlayParameters) -> Outcome:
        """Both directions, one after the other."""
        lab, impairment = session.lab, session.link.impairment
        with session.watch(sample_one_in=SAMPLE_ONE_IN) as watched:
            there = _Direction(session, session.a, session.b, lab.b, impairment.a_to_b, parameters)
            back = _Direction(session, session.b, session.a, lab.a, impairment.b_to_a, parameters)
        return Outcome(
            metrics=[*there.metrics("a to b"), *back.metrics("b to a")],
            watched=[watched],
            traffic=InnerTraffic(
                a_to_b_sent=there.sent,
                a_to_b_received=there.received,
                b_to_a_sent=back.sent,
                b_to_a_received=back.received,
            ),
            doubts=[*there.checks("a to b"), *back.checks("b to a")],
        )


class _Direction:
    """A stream at half the link's rate for loss, delay and order; a short overload for the rate."""

    def __init__(
        self,
        session: Session,
        sender: Probe,
        receiver: Probe,
        target: Node,
        one_way: OneWay,
        parameters: UnderlayParameters,
    ) -> None:
        self._session, self._sender, self._receiver = session, sender, receiver
        self._target, self._one_way = target, one_way
        self._size = session.link.mtu
        self._frame_bits = 8 * (self._size + ETHERNET_HEADER)
        self._rate_bps = one_way.rate_bps or session.link.rate_bps
        pps = FASTEST_PPS
        if self._rate_bps is not None:
            pps = min(pps, RATE_SHARE * self._rate_bps / self._frame_bits)
        self._sent, self._sunk = self._stream(pps, parameters.duration_s)
        rate_bps = None
        packets, arrived = self._sent.packets, self._sunk.unique
        if self._rate_bps is not None and self._rate_bps <= MEASURABLE_BPS:
            sent, sunk = self._overload(self._rate_bps)
            rate_bps = self._rate_of(sunk)
            packets, arrived = packets + sent.packets, arrived + sunk.unique
        self._delivered = _delivered(self._sent, self._sunk, rate_bps)
        self.sent = Flow(packets, packets * self._size, self._size)
        self.received = Flow(arrived, arrived * self._size, self._size)

    def metrics(self, direction: str) -> list[Metric]:
        """Asked and delivered side by side."""
        labels = {"direction": direction}
        found = self._delivered
        asked = asked_loss(self._one_way)
        metrics = [
            Metric("delivered_loss_ratio", "1", found.loss, labels),
            Metric("asked_delay_ms", "ms", self._one_way.delay_ns / 1e6, labels),
            Metric("sent_packets", "packets", found.sent, labels),
            Metric("reordered_packets", "packets", found.reordered, labels),
            Metric("duplicate_packets", "packets", found.duplicates, labels),
        ]
        if asked is not None:
            metrics.append(Metric("asked_loss_ratio", "1", asked, labels))
        if found.delay_p50_ns is not None and found.delay_min_ns is not None:
            metrics += [
                Metric("delivered_delay_ms", "ms", found.delay_p50_ns / 1e6, labels),
                Metric("delivered_delay_min_ms", "ms", found.delay_min_ns / 1e6, labels),
            ]
        if self._rate_bps is not None:
            metrics.append(Metric("asked_rate_bps", "bit/s", self._rate_bps, labels))
        if found.rate_bps is not None:
            metrics.append(Metric("delivered_rate_bps", "bit/s", found.rate_bps, labels))
        return metrics

    def checks(self, direction: str) -> list[Check]:
        """Whether they agree."""
        return judge_direction(
            direction,
            self._one_way,
            self._delivered,
            rate_bps=self._rate_bps,
            packet_bytes=self._size + ETHERNET_HEADER,
        )

    def _overload(self, rate_bps: int) -> tuple[UdpSource, UdpSunk]:
        pps = OVERLOAD * rate_bps / self._frame_bits
        return self._stream(pps, max(RATE_S, RATE_PACKETS / pps))

    def _stream(self, pps: float, seconds: float) -> tuple[UdpSource, UdpSunk]:
        delay_s = (self._one_way.delay_ns + _spread_ns(self._one_way)) / 1e9
        sink = self._receiver.begin(
            "udp_sink",
            bind=self._session.inner(self._target),
            interval_ms=100,
            duration_max_s=seconds + 4 * delay_s + 20,
            quiet_ms=round(1000 * delay_s) + 200,
            **self._session.marks,
        )
        port = sink.port()
        sent = parse(
            UdpSource,
            self._sender.call(
                "udp_source",
                seconds + 15,
                to=self._session.inner(self._target),
                port=port,
                payload_size=self._size - UDP_HEADERS,
                rate_pps=max(pps, 1.0),
                duration_s=seconds,
                segmentation="none",
                **self._session.marks,
            ),
        )
        return sent, parse(UdpSunk, sink.stop(4 * delay_s + 20))

    def _rate_of(self, sunk: UdpSunk) -> float | None:
        """Of frames, from the first to the last arrival; the first starts the clock."""
        if sunk.first_ns is None or sunk.last_ns is None or sunk.last_ns <= sunk.first_ns:
            return None
        return (sunk.packets - 1) * self._frame_bits / ((sunk.last_ns - sunk.first_ns) / 1e9)


def _spread_ns(one_way: OneWay) -> int:
    """Ten times the jitter covers all but the rarest of any distribution."""
    return 10 * one_way.jitter.spread_ns if one_way.jitter else 0


def _delivered(sent: UdpSource, sunk: UdpSunk, rate_bps: float | None) -> Delivered:
    arrived = sunk.unique
    return Delivered(
        sent=sent.packets,
        lost=max(sent.packets - arrived, 0),
        duplicates=sunk.duplicates,
        reordered=sunk.reordered,
        delay_min_ns=sunk.one_way.min_ns if sunk.one_way else None,
        delay_p50_ns=sunk.one_way.p50_ns if sunk.one_way else None,
        rate_bps=rate_bps,
    )
