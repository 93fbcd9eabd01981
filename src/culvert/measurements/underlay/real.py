"""A real link, measured from its ends: round trips, MTU, and each direction's rate and loss.

::

    echoes ........................ round trip
    echoes that must not be cut ... MTU
    a short flood ................. rate, each way
    a stream at half of it ........ loss, each way
"""

from __future__ import annotations

from culvert.labs.node import Node
from culvert.measurements.mtu.path import largest
from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.probe.client import Probe
from culvert.probe.results import EchoOnce, RttResult, UdpSource, UdpSunk, parse
from culvert.proof.real_link import FoundLink, FoundWay, judge_real_link
from culvert.proof.underlay import ETHERNET_HEADER, RATE_TOLERANCE, requested_loss
from culvert.results import Metric
from culvert.topology.link.impairment import OneWay
from culvert.trial.check import Check
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
        there = self._way(session.a, session.b, session.target, ways.a_to_b, mtu, seconds)
        back = self._way(session.b, session.a, session.source, ways.b_to_a, mtu, seconds)
        self.found = FoundLink(mtu, rtt.min_ns, rtt.p50_ns, there, back)

    def checks(self) -> list[Check]:
        """What the condition requests beside what the link has."""
        session = self._session
        return judge_real_link(self._names, session.link, self.found, impaired=session.lab.impairs)

    def metrics(self) -> list[Metric]:
        """Requested and found values."""
        link, found = self._session.link, self.found
        ways = (
            (self._names[0], link.impairment.a_to_b, found.there),
            (self._names[1], link.impairment.b_to_a, found.back),
        )
        values: list[tuple[str, str, float | None, dict[str, str]]] = [
            ("asked_mtu_bytes", "bytes", link.mtu if link.mtu_requested else None, {}),
            ("found_mtu_bytes", "bytes", found.mtu, {}),
            ("found_rtt_min_ms", "ms", _ms(found.rtt_min_ns), {}),
            ("found_rtt_ms", "ms", _ms(found.rtt_p50_ns), {}),
        ]
        for name, one_way, way in ways:
            label = {"direction": name}
            values += [
                ("asked_rate_bps", "bit/s", one_way.rate_on(link.rate_bps), label),
                ("delivered_rate_bps", "bit/s", way.rate_bps, label),
                ("asked_loss_ratio", "1", requested_loss(one_way), label),
                ("delivered_loss_ratio", "1", way.loss, label),
                ("asked_delay_ms", "ms", one_way.delay_ns / 1e6, label),
                ("sent_packets", "packets", way.sent, label),
            ]
        return [
            Metric(name, unit, float(value), labels)
            for name, unit, value, labels in values
            if value is not None
        ]

    def _round_trips(self) -> RttResult:
        session = self._session
        to = session.inner(session.target)
        echo = session.b.begin("echo", bind=to, token=session.token, idle_s=30)
        answer = session.a.call(
            "rtt",
            15 + ECHOES / ECHOES_PPS,
            protocol="udp",
            to=to,
            port=echo.port(),
            rate_pps=ECHOES_PPS,
            count=ECHOES,
            payload_size=ECHO_PAYLOAD_BYTES,
            timeout_ms=session.patience_ms(2000),
            **session.marks,
        )
        echo.stop()
        return parse(RttResult, answer)

    def _mtu(self) -> int | None:
        """The largest packet whose echo comes back whole, up to the devices' MTUs."""
        session = self._session
        ends = (session.source, session.target)
        links = (node.link(node.underlay.device) for node in ends)
        most = min(link.mtu for link in links if link is not None)
        to = session.inner(session.target)
        echo = session.b.begin("echo", bind=to, token=session.token, idle_s=60)
        port = echo.port()

        def crosses(size: int) -> bool:
            answer = session.a.call(
                "echo_once",
                10 + 3 * session.patience_ms(TIMEOUT_MS) / 1000,
                to=to,
                port=port,
                payload_size=size - UDP_HEADERS,
                df=True,
                timeout_ms=session.patience_ms(TIMEOUT_MS),
                attempts=3,
                **session.marks,
            )
            return parse(EchoOnce, answer).answered

        found = largest(SMALLEST_MTU, most, crosses)
        echo.stop()
        return found

    def _way(
        self,
        sender: Probe,
        receiver: Probe,
        target: Node,
        one_way: OneWay,
        mtu: int | None,
        seconds: float,
    ) -> FoundWay:
        size = mtu or SMALLEST_MTU
        frame_bits = 8 * (size + ETHERNET_HEADER)
        requested_bps = one_way.rate_on(self._session.link.rate_bps)
        rate_bps = None
        for _ in range(1 if requested_bps is None else ATTEMPTS):
            _, flood = self._stream(sender, receiver, target, size, None, FLOOD_S)
            found_bps = _rate_bps(flood, frame_bits)
            rate_bps = max(filter(None, (rate_bps, found_bps)), default=None)
            if requested_bps and rate_bps and rate_bps >= ENOUGH * requested_bps:
                break
        known_bps = rate_bps or requested_bps
        pps = min(FASTEST_PPS, RATE_SHARE * known_bps / frame_bits) if known_bps else 10.0
        sent, sunk = self._stream(sender, receiver, target, size, max(pps, 1.0), seconds)
        lost = max(sent.packets - sunk.unique - (sunk.socket_drops or 0), 0)
        return FoundWay(rate_bps, sent.packets, lost)

    def _stream(
        self,
        sender: Probe,
        receiver: Probe,
        target: Node,
        size: int,
        pps: float | None,
        seconds: float,
    ) -> tuple[UdpSource, UdpSunk]:
        session = self._session
        wait_s = session.patience_ms(1000) / 1000
        sink = receiver.begin(
            "udp_sink",
            bind=session.inner(target),
            interval_ms=100,
            duration_max_s=seconds + wait_s + 20,
            quiet_ms=QUIET_MS,
            clock="separate",
            **session.marks,
        )
        source = sender.call(
            "udp_source",
            seconds + 15,
            to=session.inner(target),
            port=sink.port(),
            payload_size=size - UDP_HEADERS,
            rate_pps=pps,
            duration_s=seconds,
            segmentation="none",
            **session.marks,
        )
        sent = parse(UdpSource, source)
        return sent, parse(UdpSunk, sink.stop(wait_s + 20, packets=sent.packets))


def _rate_bps(flood: UdpSunk, frame_bits: int) -> float | None:
    """Of the frames that arrived; the first starts the clock."""
    if flood.first_ns is None or flood.last_ns is None or flood.last_ns <= flood.first_ns:
        return None
    arrived = flood.packets + (flood.socket_drops or 0)
    return (arrived - 1) * frame_bits / ((flood.last_ns - flood.first_ns) / 1e9)


def _ms(value_ns: int | None) -> float | None:
    return None if value_ns is None else value_ns / 1e6
