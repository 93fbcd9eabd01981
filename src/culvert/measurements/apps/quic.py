"""``quic``: goodput and handshakes of QUIC between node a and node b, with and without GSO.

::

    connect ── greet ── close      (``handshakes`` times)
    connect ── streams for ``duration`` ── close

QUIC encrypts its payload, so the canary travels in a marked flow beside it (``marked``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from culvert.measurements.apps.marked import MarkedFlow
from culvert.measurements.base import SAMPLE_ONE_IN, BaseParameters, Measurement
from culvert.measurements.ceiling import bare_link_tells
from culvert.measurements.parameters import Duration, Streams
from culvert.measurements.streams.goodput import goodput_bps
from culvert.measurements.streams.packet import UDP_HEADERS, received
from culvert.measurements.streams.udp_stream import SLACK_S
from culvert.metrics import Better, HeadlineColumn, MetricSpec, Weight, family
from culvert.probe.results import Datagrams, QuicSent, QuicSunk, SecureServer, Times, parse
from culvert.proof.known import KnownPath
from culvert.proof.limits import connection_is_not_the_limit
from culvert.proof.truth import Truth
from culvert.results import Histogram, Label, Metric, measured
from culvert.trial.check import Check, Crossing
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.traffic import Flow, InnerTraffic, add_traffic
from culvert.units import DurationS

INTERVAL_MS = 100
CEILING_S = 0.25
PERCENTILES = ("p50", "p90", "p99", "max")
UNCOUNTED = 4
"""Datagrams of a connection that its end does not count: those that close it."""
QUIC_HEADERS = 28 + 1 + 8 + 4 + 16 + 12
"""IPv4 and UDP (28), and of QUIC (RFC 9000): first byte, connection id, packet number, tag, and the
header of a STREAM frame."""
QUIC_LEAST = 1228
"""The least packet of a client's first flight (RFC 9000, 14.1)."""
FLIGHT_PACKETS = 4
"""Of a certificate and what goes with it."""
CRYPTOGRAPHY_NS = 4e6
"""Of both ends of a handshake: a signature, its verification, two key exchanges."""
MAX_FAILED = 0.1
"""Share of handshakes that may fail."""
LESS, MORE = Better.LESS, Better.MORE
_HANDSHAKE = (
    MetricSpec("handshake_p50_ms", "ms", "Time to connect, median", LESS, Weight.KEY, ways=2),
    *family("handshake_{}_ms", "ms", "Time to connect", PERCENTILES[1:], LESS, ways=2),
)


class QuicParameters(BaseParameters):
    """Parameters of QUIC."""

    gso: Annotated[bool, Label("GSO {}")] = True
    """Both ends pass several datagrams to the kernel in one message, which it segments."""
    streams: Streams = 1
    """Streams of the connection."""
    duration_s: Duration = 10.0
    """Measured time of the streams."""
    warmup_s: Annotated[DurationS, Label("after {} of warm-up", unit="s")] = Field(
        0.5, alias="warmup"
    )
    """Time before it, which is not measured."""
    handshakes: Annotated[int, Field(ge=0, le=10_000), Label("{} handshakes before", {20: ""})] = 20
    """Connections before that of the streams, each with a full handshake."""
    timeout_s: Annotated[DurationS, Field(gt=0, le=600), Label("{} to connect", {"10s": ""})] = (
        Field(10.0, alias="timeout")
    )
    """Longest time to connect."""


class Quic(Measurement[QuicParameters]):
    """QUIC from node a to node b."""

    kind: ClassVar[str] = "quic"
    title: ClassVar[str] = "QUIC"
    summary: ClassVar[str] = "goodput and handshakes of QUIC, with and without GSO"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec(
            "goodput_bps",
            "bit/s",
            "Goodput",
            MORE,
            Weight.MAIN,
            column=HeadlineColumn(
                "QUIC goodput",
                key="quic",
                place=51,
                superlative="Highest QUIC goodput",
                sentence="carries {} of QUIC",
            ),
        ),
        MetricSpec("ceiling_goodput_bps", "bit/s", "Goodput beside the tunnel"),
        *_HANDSHAKE,
        MetricSpec("failed_handshakes", "handshakes", "Handshakes that failed", LESS),
        MetricSpec("loss_ratio", "1", "Share of packets lost", LESS),
        MetricSpec("quic_rtt_us", "us", "Round trip of QUIC, at the end", LESS, ways=2),
        MetricSpec("quic_mtu_bytes", "bytes", "Largest payload of a datagram", MORE),
        MetricSpec("datagrams_per_call", "1", "Datagrams in one call of the sender"),
    )
    Parameters = QuicParameters
    saturates: ClassVar[bool] = True

    @classmethod
    def estimate_s(cls, parameters: QuicParameters) -> float:
        return parameters.duration_s + parameters.warmup_s

    @classmethod
    def truths(cls, known: KnownPath, parameters: QuicParameters) -> Sequence[Truth]:
        found = known.goodput(
            "goodput_bps",
            [known.mtu],
            QUIC_HEADERS,
            parameters.duration_s,
            True,
            least_header_bytes=UDP_HEADERS,
        )
        found += known.payload(["ceiling_goodput_bps"], [], UDP_HEADERS, CEILING_S, True)
        words = "one round trip of full packets, and cryptography"
        return found + known.times(
            ["handshake_p50_ms"],
            "ms",
            known.round_trip_ns(QUIC_LEAST),
            words,
            longer_ns=flight_ns(known),
        )

    def run(self, session: Session, parameters: QuicParameters) -> Outcome:
        """Connect as often as requested, then fill the tunnel."""
        lasting_s = parameters.duration_s + parameters.warmup_s
        ceiling_bps = _ceiling_bps(session, parameters)
        marked = MarkedFlow(session, lasting_s)
        with session.watch(sample_one_in=SAMPLE_ONE_IN, marked_run=marked.marked_run) as watched:
            marked.start()
            sent, sunk = _send(session, parameters, session.inner(session.target), lasting_s)
            beside = marked.finish()
        carried_bps = goodput_bps(sunk, parameters.warmup_s)
        found = {"goodput_bps": carried_bps, "ceiling_goodput_bps": ceiling_bps}
        return Outcome(
            metrics=[*measured(self.metrics, found), *_metrics(sent)],
            watched=[watched],
            traffic=add_traffic(beside, datagram_traffic(sent.udp, sunk.udp, sent.connections)),
            goodput_bytes=sunk.bytes,
            series=[received(sunk.intervals)],
            histograms=Histogram.all(handshake_ns=sent.handshake),
            doubts=[
                marked.check(),
                _connected(sent, parameters),
                _arrived(sunk),
                _segmented(sent, parameters),
                *connection_is_not_the_limit(carried_bps, ceiling_bps),
            ],
        )


def flight_ns(known: KnownPath) -> float:
    """By how much a handshake takes longer than its round trips, at most."""
    sending_ns = known.one_way_ns(known.mtu, upward=False) - known.one_way_ns(upward=False)
    return CRYPTOGRAPHY_NS + FLIGHT_PACKETS * sending_ns


def _send(
    session: Session, parameters: QuicParameters, to: str, duration_s: float
) -> tuple[QuicSent, QuicSunk]:
    connecting_s = (parameters.handshakes + 1) * parameters.timeout_s
    sink = session.b.begin(
        "quic_sink",
        bind=to,
        token=session.token,
        segmentation=parameters.gso,
        interval_ms=INTERVAL_MS,
        duration_max_s=duration_s + connecting_s + SLACK_S,
    )
    ready = parse(SecureServer, sink.ready())
    answer = session.a.call(
        "quic_source",
        duration_s + connecting_s + SLACK_S,
        to=to,
        port=ready.port,
        certificate=ready.certificate,
        segmentation=parameters.gso,
        streams=parameters.streams,
        handshakes=parameters.handshakes,
        connect_timeout_s=parameters.timeout_s,
        duration_s=duration_s,
        **session.marks,
    )
    return parse(QuicSent, answer), parse(QuicSunk, sink.stop())


def _ceiling_bps(session: Session, parameters: QuicParameters) -> float | None:
    """Goodput in bit/s of the same streams on the bare link, for a short time; None where the link
    would be the limit."""
    if not bare_link_tells(session):
        return None
    only_streams = parameters.model_copy(update={"handshakes": 0})
    to = str(session.target.underlay.reached_at.ip)
    _, sunk = _send(session, only_streams, to, CEILING_S)
    return goodput_bps(sunk, 0.0) or None


def _metrics(sent: QuicSent) -> list[Metric]:
    values = {
        **times_ms("handshake", sent.handshake, sent.connections),
        "failed_handshakes": sent.failed_handshakes,
        "loss_ratio": sent.lost_packets / max(sent.packets, 1),
        "quic_rtt_us": sent.rtt_us,
        "quic_mtu_bytes": sent.mtu,
        "datagrams_per_call": sent.datagrams / max(sent.calls, 1),
    }
    return measured(Quic.metrics, values)


def datagram_traffic(near: Datagrams, far: Datagrams, connections: int) -> InnerTraffic:
    """QUIC's inner packets, from what both ends of ``connections`` from a to b count."""
    return InnerTraffic(
        a_to_b_sent=_flow(near.sent + UNCOUNTED * connections, near.sent_bytes),
        a_to_b_received=_flow(far.received, far.received_bytes),
        b_to_a_sent=_flow(far.sent + UNCOUNTED * connections, far.sent_bytes),
        b_to_a_received=_flow(near.received, near.received_bytes),
    )


def _flow(datagrams: int, payload_bytes: int) -> Flow:
    return Flow(datagrams, payload_bytes + datagrams * UDP_HEADERS)


def times_ms(what: str, times: Times | None, count: int) -> dict[str, float | None]:
    """Metrics in ms. Of ``count`` times one must lie beyond a percentile; the median is given of a
    single one as well."""
    if times is None:
        return {}
    us = {name: times.us(name, None if name == "p50" else count) for name in PERCENTILES}
    return {f"{what}_{name}_ms": None if at is None else at / 1e3 for name, at in us.items()}


def _connected(sent: QuicSent, parameters: QuicParameters) -> Check:
    return Check(
        "handshakes succeed",
        sent.failed_handshakes <= MAX_FAILED * max(parameters.handshakes, 1),
        f"{sent.failed_handshakes} of {parameters.handshakes} handshakes failed",
        "the others failed and have no time: allow more time with timeout",
    )


def _arrived(sunk: QuicSunk) -> Check:
    return Crossing(
        "data arrived",
        sunk.bytes > 0,
        f"the streams carried {sunk.bytes} bytes",
        "the connection was opened but carried no data: try 'culvert up'",
    )


def _segmented(sent: QuicSent, parameters: QuicParameters) -> Check:
    """With GSO the kernel may still refuse it; without it there must be none."""
    per_call = sent.datagrams / max(sent.calls, 1)
    return Check(
        "source of segmentation is recorded",
        parameters.gso or sent.datagrams == sent.calls,
        f"{per_call:.1f} datagrams in a call of the sender"
        f" (GSO {'on' if parameters.gso else 'off'})",
        "report this as a bug of culvert-probe",
        {"datagrams": sent.datagrams, "calls": sent.calls},
    )
