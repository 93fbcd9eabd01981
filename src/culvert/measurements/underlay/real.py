"""A real link, measured from its ends: round trips, MTU, and each direction's rate and loss.

::

    echoes ........................ round trip
    echoes that must not be cut ... MTU
    a short flood ................. rate, each way
    a stream at half of it ........ loss, each way
"""

from __future__ import annotations

from culvert.measurements.mtu.path import largest
from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.measurements.streams.udp_stream import UdpStream, UdpTrial, udp_trial
from culvert.measurements.underlay.way import LINK_METRICS, arrived_bps, in_ms
from culvert.probe.results import RttResult
from culvert.proof.real_link import FoundLink, FoundWay, judge_real_link
from culvert.proof.underlay import RATE_TOLERANCE, requested_loss
from culvert.results import Metric, measured
from culvert.topology.link.impairment import OneWay
from culvert.topology.link.spec import ETHERNET_HEADER
from culvert.trial.check import Check
from culvert.trial.echo import Echo
from culvert.trial.session import Session

ECHOES = 200
ECHOES_PPS = 400.0
ECHO_PAYLOAD_BYTES = 100
FLOOD_S = 0.5
ATTEMPTS = 3
"""A sender that waited for its processor leaves the link idle: the fastest flood shows its rate."""
ENOUGH = 1 - RATE_TOLERANCE
FASTEST_PPS = 5000.0
RATE_SHARE = 0.5
"""Share of the found rate, so that no queue builds up while loss is measured."""
QUIET_MS = 300
SMALLEST_MTU = 576
"""Every IPv4 host must accept it (RFC 791)."""
TIMEOUT_MS = 400


class RealLink:
    """Call ``measure`` once, then the other methods."""

    def __init__(self, session: Session) -> None:
        self._session = session
        source, target = session.source.name, session.target.name
        self._names = (f"{source} to {target}", f"{target} to {source}")

    def measure(self, seconds: float) -> None:
        """``seconds`` of the stream in each direction. Raises ProbeError."""
        session = self._session
        rtt = self._round_trips()
        mtu = self._mtu()
        ways = session.link.impairment
        there = self._way(ways.a_to_b, mtu, seconds, upward=True)
        back = self._way(ways.b_to_a, mtu, seconds, upward=False)
        self.found = FoundLink(mtu, rtt.min_ns, rtt.p50_ns, there, back)

    def checks(self) -> list[Check]:
        session = self._session
        return judge_real_link(self._names, session.link, self.found, impaired=session.lab.impairs)

    def metrics(self) -> list[Metric]:
        link, found = self._session.link, self.found
        ways = (
            (self._names[0], link.impairment.a_to_b, found.there),
            (self._names[1], link.impairment.b_to_a, found.back),
        )
        metrics = measured(
            LINK_METRICS,
            {
                "asked_mtu_bytes": link.mtu if link.mtu_requested else None,
                "found_mtu_bytes": found.mtu,
                "found_rtt_min_ms": in_ms(found.rtt_min_ns),
                "found_rtt_ms": in_ms(found.rtt_p50_ns),
            },
        )
        for name, one_way, way in ways:
            values = {
                "asked_rate_bps": one_way.rate_on(link.rate_bps),
                "delivered_rate_bps": way.rate_bps,
                "asked_loss_ratio": requested_loss(one_way),
                "delivered_loss_ratio": way.loss,
                "asked_delay_ms": one_way.delay_ns / 1e6,
                "sent_packets": way.sent,
            }
            metrics += measured(LINK_METRICS, values, {"direction": name})
        return metrics

    def _round_trips(self) -> RttResult:
        with Echo(self._session, idle_s=30) as echo:
            return echo.rtt(
                rate_pps=ECHOES_PPS,
                count=ECHOES,
                payload_size=ECHO_PAYLOAD_BYTES,
                timeout_ms=self._session.patience_ms(2000),
            )

    def _mtu(self) -> int | None:
        """The largest packet whose echo comes back whole, up to the devices' MTUs."""
        session = self._session
        ends = (session.source, session.target)
        links = (node.link(node.underlay.device) for node in ends)
        most = min(link.mtu for link in links if link is not None)
        timeout_ms = session.patience_ms(TIMEOUT_MS)
        with Echo(session, idle_s=60) as echo:
            return largest(
                SMALLEST_MTU,
                most,
                lambda size: echo.once(size - UDP_HEADERS, df=True, timeout_ms=timeout_ms).answered,
            )

    def _way(self, one_way: OneWay, mtu: int | None, seconds: float, *, upward: bool) -> FoundWay:
        size = mtu or SMALLEST_MTU
        frame_bits = 8 * (size + ETHERNET_HEADER)
        requested_bps = one_way.rate_on(self._session.link.rate_bps)
        rate_bps = None
        for _ in range(1 if requested_bps is None else ATTEMPTS):
            flood = self._stream(size, None, FLOOD_S, upward=upward)
            found_bps = arrived_bps(flood.sunk, frame_bits)
            rate_bps = max(filter(None, (rate_bps, found_bps)), default=None)
            if requested_bps and rate_bps and rate_bps >= ENOUGH * requested_bps:
                break
        known_bps = rate_bps or requested_bps
        pps = min(FASTEST_PPS, RATE_SHARE * known_bps / frame_bits) if known_bps else 10.0
        stream = self._stream(size, max(pps, 1.0), seconds, upward=upward)
        return FoundWay(rate_bps, stream.sent.packets, stream.lost)

    def _stream(self, size: int, pps: float | None, seconds: float, *, upward: bool) -> UdpTrial:
        session = self._session
        to = session.inner(session.target if upward else session.source)
        stream = UdpStream(to, (size,), seconds, pps, segmentation="none")
        return udp_trial(session, stream, session.patience_ms(QUIET_MS), upward=upward)
