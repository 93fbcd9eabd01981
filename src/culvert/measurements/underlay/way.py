"""One direction of a link, measured with packets of the link's own size.

::

    a stream at half the rate ......... loss, bursts, delay, order
    a few that a black hole drops ..... only where one is requested
    a short overload .................. rate
"""

from __future__ import annotations

import math

from culvert.labs.node import Node
from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.probe.client import Probe
from culvert.probe.results import UdpSource, UdpSunk, parse
from culvert.proof.underlay import (
    ETHERNET_HEADER,
    RATE_TOLERANCE,
    Delivered,
    judge_direction,
    requested_loss,
    requested_run,
)
from culvert.results import Metric
from culvert.topology.link.impairment import OneWay
from culvert.trial.check import Check
from culvert.trial.session import Session
from culvert.trial.traffic import Flow

FASTEST_PPS = 5000.0
RATE_SHARE = 0.5
"""Share of the link's rate, so that no queue builds up while loss and delay are measured."""
OVERLOAD = 1.2
OVERLOAD_OF_SLOW = 2.0
BURST_OF_SLOW_S = 0.1
"""In bursts, so that queued packets keep the link busy while the sender does not run."""
SLOW_BPS = 100_000_000
DEFAULT_QUEUE_PACKETS = 1000
RATE_S = 2.0
"""So long that a pause of the machine of ten milliseconds does not change the rate: a wire never
makes up for a pause, because it would exceed the requested rate."""
RATE_OF_SLOW_S = 0.5
RATE_PACKETS = 100
ATTEMPTS = 3
"""A sender that waited for its processor leaves the link idle, and then sends a burst that queues:
the result is neither the link's rate nor its delay."""
LATE_NS = 500_000
"""With a requested rate, one packet in a hundred may leave this late, or as late as the link's
transmission time of one packet, because at half its rate it is idle as long. Without a rate no
packet waits for others, and delays count from its actual sending."""
ENOUGH = 1 - RATE_TOLERANCE
MEASURABLE_BPS = 1_200_000_000
"""Faster rates than this are the generator's own limit on small machines."""
OVERSIZE_PPS = 200.0
OVERSIZE_S = 0.25
QUIET_MS = 200


class Way:
    """What a direction delivers; call ``measure`` once, then the other methods."""

    def __init__(
        self,
        name: str,
        session: Session,
        sender: Probe,
        receiver: Probe,
        target: Node,
        one_way: OneWay,
    ) -> None:
        self.name = name
        self._session, self._sender, self._receiver = session, sender, receiver
        self._target, self._one_way = target, one_way
        self._rate_bps = one_way.rate_on(session.link.rate_bps)
        hole = one_way.drop_size_and_above
        self._size = session.link.mtu if hole is None else min(session.link.mtu, hole - 1)
        self.sent = self.received = Flow(0, 0)
        self.delays: str | None = None
        """An HDR histogram of delays in ns."""

    def measure(self, seconds: float) -> None:
        """Send, and wait for what arrives. Raises ProbeError."""
        sent, sunk = self._least_late(seconds)
        offered_bps, rate_bps = math.inf, None
        if self._rate_bps is not None and self._rate_bps <= MEASURABLE_BPS:
            offered_bps, rate_bps = self._nearest_rate(self._rate_bps)
        oversize = None
        if self._size < self._session.link.mtu:
            _, swallowed = self._stream(OVERSIZE_PPS, OVERSIZE_S, self._session.link.mtu)
            oversize = swallowed.unique
        self.delays = sunk.one_way.histogram if sunk.one_way else None
        self._delivered = Delivered(
            sent=sent.packets,
            # packets dropped by the receiver's full socket had crossed the link
            lost=max(sent.packets - sunk.unique - (sunk.socket_drops or 0), 0),
            packet_bytes=self._size,
            seconds=seconds,
            duplicates=sunk.duplicates,
            reordered=sunk.reordered,
            delay_min_ns=sunk.one_way.min_ns if sunk.one_way else None,
            delay_p50_ns=sunk.one_way.p50_ns if sunk.one_way else None,
            delay_p99_ns=sunk.one_way.p99_ns if sunk.one_way else None,
            bursty=(sent.late_p99_ns or 0) > self._may_be_late_ns,
            loss_runs=sunk.loss_runs.runs,
            longest_run=sunk.loss_runs.longest,
            rate_bps=rate_bps,
            offered_bps=offered_bps,
            oversize_arrived=oversize,
        )

    def metrics(self) -> list[Metric]:
        """Requested and delivered values."""
        found = self._delivered
        values: dict[str, tuple[str, float | None]] = {
            "asked_loss_ratio": ("1", requested_loss(self._one_way)),
            "delivered_loss_ratio": ("1", found.loss),
            "sent_packets": ("packets", found.sent),
            "loss_runs": ("runs", found.loss_runs),
            "asked_loss_run": ("packets", requested_run(self._one_way)),
            "longest_loss_run": ("packets", found.longest_run),
            "asked_reordered_ratio": ("1", _unless_jitter_reorders(self._one_way)),
            "asked_duplicate_ratio": ("1", self._one_way.duplicate),
            "per_super_packet": ("1", float(self._one_way.per_super_packet)),
            "asked_delay_ms": ("ms", self._one_way.delay_ns / 1e6),
            "delivered_delay_min_ms": ("ms", _ms(found.delay_min_ns)),
            "delivered_delay_ms": ("ms", _ms(found.delay_p50_ns)),
            "delivered_delay_p99_ms": ("ms", _ms(found.delay_p99_ns)),
            "reordered_packets": ("packets", found.reordered),
            "duplicate_packets": ("packets", found.duplicates),
            "oversize_arrived": ("packets", found.oversize_arrived),
            "asked_rate_bps": ("bit/s", self._rate_bps),
            "delivered_rate_bps": ("bit/s", found.rate_bps),
        }
        labels = {"direction": self.name}
        return [
            Metric(name, unit, value, labels)
            for name, (unit, value) in values.items()
            if value is not None
        ]

    def checks(self) -> list[Check]:
        """Whether requested and delivered values agree."""
        return judge_direction(self.name, self._one_way, self._delivered, rate_bps=self._rate_bps)

    def _least_late(self, seconds: float) -> tuple[UdpSource, UdpSunk]:
        """The stream for loss, delay and order."""
        tried: list[tuple[UdpSource, UdpSunk]] = []
        for _ in range(ATTEMPTS):
            tried.append(self._stream(self._pace(), seconds, self._size))
            if (tried[-1][0].late_p99_ns or 0) <= self._may_be_late_ns:
                break
        return min(tried, key=lambda one: one[0].late_p99_ns or 0)

    @property
    def _may_be_late_ns(self) -> float:
        if self._rate_bps is None and self._one_way.trace is None:
            return math.inf
        transmission_ns = (
            self._frame_bits(self._size) * 1e9 / self._rate_bps if self._rate_bps else 0.0
        )
        return max(LATE_NS, transmission_ns)

    def _nearest_rate(self, rate_bps: int) -> tuple[float, float | None]:
        """Rates of frames: offered, and arrived."""
        passing = 1 - (requested_loss(self._one_way) or 0.0)
        tried: list[tuple[float, float | None]] = []
        for _ in range(ATTEMPTS):
            offered_bps, found_bps = self._measured_rate(rate_bps)
            tried.append((offered_bps, found_bps))
            low_bps = ENOUGH * min(offered_bps, rate_bps) * passing
            if found_bps is not None and low_bps <= found_bps <= rate_bps * passing / ENOUGH:
                break
        return min(tried, key=lambda one: abs((one[1] or 0.0) - min(one[0], rate_bps) * passing))

    def _pace(self) -> float:
        """Packets per second, at most half of the link's rate."""
        trace = self._one_way.trace
        rate_bps = trace.mean_rate_bps if trace else self._rate_bps
        if rate_bps is None:
            return FASTEST_PPS
        return min(FASTEST_PPS, RATE_SHARE * rate_bps / self._frame_bits(self._size))

    def _measured_rate(self, rate_bps: int) -> tuple[float, float | None]:
        """Rates of frames: offered, and arrived; the first frame starts the clock."""
        frame_bits = self._frame_bits(self._size)
        slow = rate_bps <= SLOW_BPS
        pps = (OVERLOAD_OF_SLOW if slow else OVERLOAD) * rate_bps / frame_bits
        burst = min(round(pps * BURST_OF_SLOW_S), self._queue_packets // 2) if slow else 1
        seconds = max(RATE_OF_SLOW_S if slow else RATE_S, RATE_PACKETS / pps)
        sent, sunk = self._stream(pps, seconds, self._size, burst=max(burst, 1))
        offered_bps = sent.packets * frame_bits / sent.seconds if sent.seconds else math.inf
        if sunk.first_ns is None or sunk.last_ns is None or sunk.last_ns <= sunk.first_ns:
            return offered_bps, None
        arrived = sunk.packets + (sunk.socket_drops or 0)
        return offered_bps, (arrived - 1) * frame_bits / ((sunk.last_ns - sunk.first_ns) / 1e9)

    @property
    def _queue_packets(self) -> int:
        """Packets of the measured size that fit into the rate's queue."""
        way = self._one_way
        if way.queue_bytes is not None:
            return 8 * way.queue_bytes // self._frame_bits(self._size)
        return way.queue_packets if way.queue_packets is not None else DEFAULT_QUEUE_PACKETS

    def _stream(
        self, pps: float, seconds: float, size: int, burst: int = 1
    ) -> tuple[UdpSource, UdpSunk]:
        """Packets of that size; those sent and those arrived count for the proof."""
        longest_ns = self._one_way.jitter.longest_ns if self._one_way.jitter else 0
        delay_s = (self._one_way.delay_ns + longest_ns) / 1e9
        sink = self._receiver.begin(
            "udp_sink",
            bind=self._session.inner(self._target),
            interval_ms=100,
            duration_max_s=seconds + 4 * delay_s + 20,
            quiet_ms=round(1000 * delay_s) + QUIET_MS,
            **self._session.marks,
        )
        port = sink.port()
        source = self._sender.call(
            "udp_source",
            seconds + 15,
            to=self._session.inner(self._target),
            port=port,
            payload_size=size - UDP_HEADERS,
            rate_pps=max(pps, 1.0),
            arrivals="burst",
            burst=burst,
            duration_s=seconds,
            segmentation="none",
            **self._session.marks,
        )
        sent = parse(UdpSource, source)
        sunk = parse(UdpSunk, sink.stop(4 * delay_s + 20))
        self.sent = _more(self.sent, sent.packets, size)
        self.received = _more(self.received, sunk.unique, size)
        return sent, sunk

    def _frame_bits(self, size: int) -> int:
        return 8 * (size + ETHERNET_HEADER)


def _more(flow: Flow, packets: int, size: int) -> Flow:
    length = size if flow.packets == 0 or flow.length == size else None
    return Flow(flow.packets + packets, flow.ip_bytes + packets * size, length)


def _unless_jitter_reorders(one_way: OneWay) -> float | None:
    return None if one_way.jitter and one_way.jitter.reorders else one_way.reorder


def _ms(value_ns: int | None) -> float | None:
    return None if value_ns is None else value_ns / 1e6
