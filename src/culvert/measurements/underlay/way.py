"""One direction of a link, measured with packets of the link's own size.

::

    a stream at half the rate ......... loss, bursts, delay, order
    a few that a black hole drops ..... only where one is requested
    a short overload .................. rate
"""

from __future__ import annotations

import math
import secrets

from culvert.measurements.streams.udp_stream import Arrivals, UdpStream, UdpTrial, udp_trial
from culvert.metrics import MetricSpec, Weight
from culvert.probe.results import EchoOnce, UdpSunk, parse
from culvert.proof.underlay import (
    RATE_TOLERANCE,
    Delivered,
    judge_direction,
    requested_loss,
    requested_run,
)
from culvert.results import Metric, measured
from culvert.topology.link.impairment import OneWay
from culvert.topology.link.spec import ETHERNET_HEADER
from culvert.trial.check import Check
from culvert.trial.session import Session
from culvert.trial.traffic import Flow, add_flows

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
LIMIT_SHARE = 0.5
"""Share of an emulator's queue that delayed packets may fill, so that it drops none; and of its
delay, in which more packets are sent than it holds."""
LIMIT_OVERLOAD = 1.3
LIMIT_BURST = 32
FASTEST_FLOOD_PPS = 60_000.0
OVERSIZE_PPS = 200.0
OVERSIZE_S = 0.25
QUIET_MS = 200
LINK_METRICS = (
    MetricSpec("delivered_loss_ratio", "1", "Share lost", weight=Weight.MAIN),
    MetricSpec("asked_loss_ratio", "1", "Share to lose, as requested"),
    MetricSpec("asked_delay_ms", "ms", "Delay, as requested"),
    MetricSpec("delivered_delay_ms", "ms", "Delay, median"),
    MetricSpec("delivered_delay_min_ms", "ms", "Delay, least"),
    MetricSpec("sent_packets", "packets", "Packets sent"),
    MetricSpec("reordered_packets", "packets", "Packets out of order"),
    MetricSpec("duplicate_packets", "packets", "Packets that arrived twice"),
    MetricSpec("delivered_delay_p99_ms", "ms", "Delay, 99\u00a0%"),
    MetricSpec("loss_runs", "runs", "Runs of lost packets"),
    MetricSpec("asked_loss_run", "packets", "Mean run of lost packets, as requested"),
    MetricSpec("longest_loss_run", "packets", "Longest run of lost packets"),
    MetricSpec("asked_reordered_ratio", "1", "Share out of order, as requested"),
    MetricSpec("asked_duplicate_ratio", "1", "Share to arrive twice, as requested"),
    MetricSpec("per_super_packet", "1", "Packets in a super-packet"),
    MetricSpec("oversize_arrived", "packets", "Packets larger than the MTU"),
    MetricSpec("fragments_arrived", "packets", "Packets that arrived in fragments"),
    MetricSpec("asked_rate_bps", "bit/s", "Rate, as requested", offered=True),
    MetricSpec("delivered_rate_bps", "bit/s", "Rate"),
    MetricSpec("asked_limit_packets", "packets", "Packets that the link holds, as requested"),
    MetricSpec("delivered_limit_packets", "packets", "Packets that the link holds"),
    MetricSpec("asked_mtu_bytes", "bytes", "MTU of a real link, as requested"),
    MetricSpec("found_mtu_bytes", "bytes", "MTU of a real link"),
    MetricSpec("found_rtt_min_ms", "ms", "Round trip of a real link, least"),
    MetricSpec("found_rtt_ms", "ms", "Round trip of a real link, median"),
)


class Way:
    """What a direction delivers; call ``measure`` once, then the other methods."""

    def __init__(self, session: Session, *, upward: bool) -> None:
        """``upward`` is from node a to node b."""
        self.name = "a to b" if upward else "b to a"
        self._session, self._upward = session, upward
        self._to = session.inner(session.target if upward else session.source)
        ways = session.link.impairment
        one_way = ways.a_to_b if upward else ways.b_to_a
        self._one_way = one_way
        self._rate_bps = one_way.rate_on(session.link.rate_bps)
        hole = one_way.drop_size_and_above
        self._size = session.link.mtu if hole is None else min(session.link.mtu, hole - 1)
        self._pace_pps = pace_pps(one_way, self._rate_bps, self._size)
        self.sent = self.received = Flow(0, 0)
        self.delays: str | None = None
        """An HDR histogram of delays in ns."""

    def measure(self, seconds: float) -> None:
        """Send, and wait for what arrives. Raises ProbeError."""
        stream = self._least_late(seconds)
        sent, sunk = stream.sent, stream.sunk
        offered_bps, rate_bps = math.inf, None
        held = self._held()
        # An emulator's queue that holds the delayed packets is what limits a flood, not the rate.
        if held is None and self._rate_bps is not None and self._rate_bps <= MEASURABLE_BPS:
            offered_bps, rate_bps = self._nearest_rate(self._rate_bps)
        oversize = None
        if self._size < self._session.link.mtu:
            swallowed = self._stream(OVERSIZE_PPS, OVERSIZE_S, self._session.link.mtu)
            oversize = swallowed.unique
        self.delays = sunk.one_way.histogram if sunk.one_way else None
        self._sunk = sunk
        self._delivered = Delivered(
            sent=sent.packets,
            lost=stream.lost,
            packet_bytes=self._size,
            seconds=seconds,
            duplicates=sunk.duplicates,
            reordered=sunk.reordered,
            delay_min_ns=sunk.one_way.min_ns if sunk.one_way else None,
            delay_p50_ns=sunk.one_way.p50_ns if sunk.one_way else None,
            bursty=(sent.late_p99_ns or 0) > self._may_be_late_ns,
            rate_bps=rate_bps,
            offered_bps=offered_bps,
            oversize_arrived=oversize,
            held=held,
            fragments_arrived=self._whole_again() if self._one_way.drop_fragments else None,
        )

    def metrics(self) -> list[Metric]:
        found, sunk = self._delivered, self._sunk
        values = {
            "asked_loss_ratio": requested_loss(self._one_way),
            "delivered_loss_ratio": found.loss,
            "sent_packets": found.sent,
            "loss_runs": sunk.loss_runs.runs,
            "asked_loss_run": requested_run(self._one_way),
            "longest_loss_run": sunk.loss_runs.longest,
            "asked_reordered_ratio": _unless_jitter_reorders(self._one_way),
            "asked_duplicate_ratio": self._one_way.duplicate,
            "per_super_packet": float(self._one_way.per_super_packet),
            "asked_delay_ms": self._one_way.delay_ns / 1e6,
            "delivered_delay_min_ms": in_ms(found.delay_min_ns),
            "delivered_delay_ms": in_ms(found.delay_p50_ns),
            "delivered_delay_p99_ms": in_ms(sunk.one_way.p99_ns if sunk.one_way else None),
            "reordered_packets": found.reordered,
            "duplicate_packets": found.duplicates,
            "oversize_arrived": found.oversize_arrived,
            "fragments_arrived": found.fragments_arrived,
            "asked_rate_bps": self._rate_bps,
            "delivered_rate_bps": found.rate_bps,
            "asked_limit_packets": self._one_way.limit_packets,
            "delivered_limit_packets": found.held,
        }
        return measured(LINK_METRICS, values, {"direction": self.name})

    def checks(self) -> list[Check]:
        return judge_direction(self.name, self._one_way, self._delivered, rate_bps=self._rate_bps)

    def _least_late(self, seconds: float) -> UdpTrial:
        tried: list[UdpTrial] = []
        for _ in range(ATTEMPTS):
            tried.append(self._stream(self._pace_pps, seconds, self._size))
            if (tried[-1].sent.late_p99_ns or 0) <= self._may_be_late_ns:
                break
        return min(tried, key=lambda one: one.sent.late_p99_ns or 0)

    def _whole_again(self) -> int:
        """Pings of two fragments that are answered, out of three: none if either way drops them."""
        timeout_ms = self._session.patience_ms(QUIET_MS)
        probe = self._session.a if self._upward else self._session.b
        answers = [
            probe.call(
                "echo_once",
                timeout_ms / 1000 + 5,
                to=str(self._to),
                token=secrets.token_hex(16),
                payload_size=self._session.link.mtu,
                df=False,
                timeout_ms=timeout_ms,
                attempts=1,
            )
            for _ in range(3)
        ]
        return sum(parse(EchoOnce, answer).answered for answer in answers)

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

    def _held(self) -> int | None:
        """Packets that an emulator's queue held of more that were sent within its delay; None if
        none is requested, or if they cannot be sent so fast."""
        way = self._one_way
        if way.limit_packets is None or not way.delay_ns or way.jitter or way.loss:
            return None
        seconds = LIMIT_SHARE * way.delay_ns / 1e9
        pps = LIMIT_OVERLOAD * way.limit_packets / seconds
        fastest = FASTEST_FLOOD_PPS
        if self._rate_bps is not None:
            fastest = min(fastest, self._rate_bps / self._frame_bits(self._size))
        if pps > fastest:
            return None
        for _ in range(ATTEMPTS):
            trial = self._stream(pps, seconds, self._size, burst=LIMIT_BURST)
            if trial.sent.seconds * 1e9 < way.delay_ns and trial.sent.packets > way.limit_packets:
                return trial.unique
        return None

    def _measured_rate(self, rate_bps: int) -> tuple[float, float | None]:
        """Rates of frames: offered, and arrived."""
        frame_bits = self._frame_bits(self._size)
        slow = rate_bps <= SLOW_BPS
        pps = (OVERLOAD_OF_SLOW if slow else OVERLOAD) * rate_bps / frame_bits
        burst = min(round(pps * BURST_OF_SLOW_S), self._queue_packets // 2) if slow else 1
        seconds = max(RATE_OF_SLOW_S if slow else RATE_S, RATE_PACKETS / pps)
        trial = self._stream(pps, seconds, self._size, burst=max(burst, 1))
        sent = trial.sent
        offered_bps = sent.packets * frame_bits / sent.seconds if sent.seconds else math.inf
        return offered_bps, arrived_bps(trial.sunk, frame_bits)

    @property
    def _queue_packets(self) -> int:
        """Packets of the measured size that fit into the rate's queue."""
        way = self._one_way
        if way.queue_bytes is not None:
            return 8 * way.queue_bytes // self._frame_bits(self._size)
        return way.queue_packets if way.queue_packets is not None else DEFAULT_QUEUE_PACKETS

    def _stream(self, pps: float, seconds: float, size: int, burst: int = 1) -> UdpTrial:
        """Packets of that size; those sent and those arrived count for the proof."""
        quiet_ms = round(longest_delay_ns(self._one_way) / 1e6) + QUIET_MS
        stream = UdpStream(
            self._to,
            (size,),
            seconds,
            max(pps, 1.0),
            Arrivals.BURST,
            burst,
            segmentation="none",
        )
        trial = udp_trial(self._session, stream, quiet_ms, upward=self._upward)
        self.sent = add_flows(self.sent, trial.sent_flow)
        self.received = add_flows(self.received, trial.received_flow)
        return trial

    def _frame_bits(self, size: int) -> int:
        return 8 * (size + ETHERNET_HEADER)


def pace_pps(way: OneWay, rate_bps: int | None, size: int) -> float:
    """Packets of this size per second, at most half of the link's rate, and of what an emulator's
    queue holds for its delay."""
    carried_bps = way.trace.mean_rate_bps if way.trace else rate_bps
    limits = [FASTEST_PPS]
    if carried_bps is not None:
        limits.append(RATE_SHARE * carried_bps / (8 * (size + ETHERNET_HEADER)))
    longest_ns = longest_delay_ns(way)
    if way.limit_packets is not None and longest_ns:
        limits.append(LIMIT_SHARE * way.limit_packets * 1e9 / longest_ns)
    return min(limits)


def longest_delay_ns(way: OneWay) -> int:
    """Of a packet, without a queue."""
    return way.delay_ns + (way.jitter.longest_ns if way.jitter else 0)


def arrived_bps(sunk: UdpSunk, frame_bits: int) -> float | None:
    """Rate of the frames that arrived, of ``frame_bits`` each; the first starts the clock."""
    if sunk.first_ns is None or sunk.last_ns is None or sunk.last_ns <= sunk.first_ns:
        return None
    arrived = sunk.packets + (sunk.socket_drops or 0)
    return (arrived - 1) * frame_bits / ((sunk.last_ns - sunk.first_ns) / 1e9)


def _unless_jitter_reorders(one_way: OneWay) -> float | None:
    return None if one_way.jitter and one_way.jitter.reorders else one_way.reorder


def in_ms(value_ns: int | None) -> float | None:
    """Milliseconds, of nanoseconds."""
    return None if value_ns is None else value_ns / 1e6
