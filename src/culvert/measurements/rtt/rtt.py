"""``rtt``: round trips on an open-loop schedule (no coordinated omission) in HDR histograms.

RFC 2681. The time of a probe counts from its scheduled sending time, so that a stall counts in
all the probes that it delays.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.instruments.base import Instrument, refuse
from culvert.measurements.instruments.run import measure_ping
from culvert.measurements.parameters import (
    INSTRUMENT,
    PROTOCOL,
    RATE,
    SAMPLING,
    PacketSize,
    Sampling,
    Spin,
)
from culvert.measurements.rtt.noise_floor import FLOOR_METRICS, floor_metrics, noise_floor
from culvert.measurements.streams.packet import (
    ICMP_HEADERS,
    SMALLEST,
    TCP_HEADERS,
    UDP_HEADERS,
    intact,
)
from culvert.measurements.streams.tcp_packets import transaction_traffic
from culvert.metrics import Better, Effect, HeadlineColumn, MetricSpec, Weight, family
from culvert.probe.results import Responded, RttResult, TcpInfo, parse
from culvert.probe.results.base import SHARES
from culvert.proof.known import KnownPath
from culvert.proof.limits import GENERATOR
from culvert.proof.truth import Truth
from culvert.results import Histogram, Label, Metric, measured
from culvert.study.table import problem
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.traffic import InnerTraffic, unseen_echo_traffic
from culvert.units import PerSecond
from culvert.vpns.abilities import require_packets

TIMEOUT_MS = 1000
MAX_LOSS = 0.5
MAX_OVERDUE = 0.5


class Protocol(StrEnum):
    """What answers: the probe over UDP or TCP, or the kernel."""

    UDP = "udp"
    ICMP = "icmp"
    TCP = "tcp"


HEADERS = {
    Protocol.UDP: UDP_HEADERS,
    Protocol.ICMP: ICMP_HEADERS,
    Protocol.TCP: TCP_HEADERS,
}
SMALLEST_TCP = TCP_HEADERS + SMALLEST - UDP_HEADERS
"""The payload of the smallest UDP request behind longer headers; the default over TCP."""


class RttParameters(BaseParameters):
    """Parameters of an open-loop schedule of echo requests."""

    protocol: Annotated[Protocol, PROTOCOL] = Protocol.UDP
    """Protocol of the echo."""
    packet_size: PacketSize = 84
    """Bytes of the inner IP packet: 84 as ping sends by default. Over TCP each request is a segment
    of its own, and the minimum is larger."""
    rate_pps: Annotated[PerSecond, Field(gt=0), RATE] = Field(1000, alias="rate")
    """Echo requests per second."""
    probes: Annotated[int, Field(ge=10, le=10_000_000), Label("{} probes")] = 10_000
    """Echo requests."""
    sampling: Annotated[Sampling, SAMPLING] = Sampling.SCATTERED
    """Spread of the echo requests over time, each from a random phase: one at a moving place in
    each period, even gaps, or exponential gaps."""
    spin_ns: Spin = Field(100_000, alias="spin")
    """For this time before each probe is due the sender polls the clock without sleeping."""
    instrument: Annotated[Instrument, INSTRUMENT] = Instrument.PROBE
    """The program that sends and counts."""

    @model_validator(mode="before")
    @classmethod
    def _room_for_tcp(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("protocol") == Protocol.TCP:
            return {"packet_size": SMALLEST_TCP, **given}
        if isinstance(given, dict) and given.get("instrument") == Instrument.PING:
            return {"protocol": Protocol.ICMP, "sampling": Sampling.PERIODIC, **given}
        return given

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.protocol is Protocol.TCP and self.packet_size < SMALLEST_TCP:
            why = f"a packet of {self.packet_size} bytes cannot hold a request over TCP"
            remedy = f"write packet_size = {SMALLEST_TCP} or more"
            raise problem(why, remedy)
        refuse(
            self.instrument,
            (Instrument.PROBE, Instrument.PING),
            {
                f"echo over {self.protocol}": self.protocol is not Protocol.ICMP,
                f"{self.sampling} schedule": self.sampling is not Sampling.PERIODIC,
            },
        )
        return self


class Rtt(Measurement[RttParameters]):
    """Echo requests from node a to node b."""

    kind: ClassVar[str] = "rtt"
    title: ClassVar[str] = "Round trip"
    summary: ClassVar[str] = "round-trip time percentiles by UDP, ICMP or TCP echo"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec("probes_sent", "packets", "Probes sent"),
        MetricSpec("probes_overdue", "packets", "Probes sent late"),
        MetricSpec("probes_lost", "packets", "Probes lost", Better.LESS),
        MetricSpec("loss_ratio", "1", "Share of probes lost", Better.LESS),
        MetricSpec(
            "rtt_p50_us",
            "us",
            "Round trip, median",
            Better.LESS,
            Weight.MAIN,
            column=HeadlineColumn(
                "Round trip, median",
                key="rtt",
                place=30,
                effect=Effect.DIFFERENCE,
                superlative="Lowest latency",
                sentence="changes the median round trip by {}",
                unchanged="shows no difference in the median round trip {}",
            ),
            ways=2,
        ),
        MetricSpec(
            "rtt_p99_us",
            "us",
            "Round trip, 99\u00a0%",
            Better.LESS,
            Weight.KEY,
            column=HeadlineColumn(
                "Round trip, 99\u00a0%", key="rtt99", place=31, effect=Effect.DIFFERENCE
            ),
            ways=2,
        ),
        *family(
            "rtt_{}_us",
            "us",
            "Round trip",
            ("min", "mean", "p90", "p99_9", "p99_99", "max"),
            Better.LESS,
            ways=2,
        ),
        MetricSpec(
            "rtt_actual_p50_us",
            "us",
            "Round trip from the actual sending, median",
            Better.LESS,
            ways=2,
        ),
        MetricSpec("schedule_error_p99_us", "us", "Lateness of the sender, 99\u00a0%"),
        *FLOOR_METRICS,
    )
    Parameters = RttParameters

    @classmethod
    def estimate_s(cls, parameters: RttParameters) -> float:
        return parameters.probes / parameters.rate_pps

    @classmethod
    def truths(cls, known: KnownPath, parameters: RttParameters) -> Sequence[Truth]:
        size = parameters.packet_size
        words = "the delay and a transmission, there and back"
        metrics = ["rtt_p50_us", "rtt_min_us"]
        found = known.times(metrics, "us", known.round_trip_ns(size), words)
        if parameters.protocol is not Protocol.TCP:
            found += known.loss("loss_ratio", parameters.probes, round_trip=True)
        return found

    def run(self, session: Session, parameters: RttParameters) -> Outcome:
        """The instrument's own noise, then the schedule; wait for the last answers."""
        if parameters.protocol is Protocol.ICMP:
            require_packets(session.vpn, "ICMP")
        if parameters.instrument is Instrument.PING:
            return _by_ping(session, parameters)
        floor = noise_floor(
            session,
            size=parameters.packet_size,
            rate_pps=parameters.rate_pps,
            count=parameters.probes,
            sampling=parameters.sampling,
            spin_us=parameters.spin_ns // 1000,
        )
        with session.watch(sample_one_in=1) as watched:
            found, traffic = _ask(session, parameters)
        return Outcome(
            metrics=[*_metrics(found), *floor_metrics(floor)],
            watched=[watched],
            traffic=traffic,
            histograms=Histogram.all(rtt_ns=found, noise_floor_ns=floor),
            doubts=[
                _enough(found.received, found.sent),
                _all_sent(found, parameters.probes),
                _on_time(found),
                intact(found.corrupt),
            ],
        )


def _by_ping(session: Session, parameters: RttParameters) -> Outcome:
    report, outcome = measure_ping(
        session,
        probes=parameters.probes,
        rate_pps=parameters.rate_pps,
        packet_size=parameters.packet_size,
        timeout_ms=session.patience_ms(TIMEOUT_MS),
    )
    sent, lost = report.sent_packets or 0, report.lost_packets or 0
    outcome.doubts.append(_enough(sent - lost, sent))
    return outcome


def _ask(session: Session, parameters: RttParameters) -> tuple[RttResult, InnerTraffic]:
    """All probes, and the inner traffic they make."""
    seconds = parameters.probes / parameters.rate_pps
    inner = session.inner(session.target)
    reflector = None
    to: dict[str, Any] = {"to": inner}
    if parameters.protocol is not Protocol.ICMP:
        reflector = session.b.begin(
            "echo" if parameters.protocol is Protocol.UDP else "tcp_responder",
            bind=inner,
            token=session.token,
            idle_s=seconds + 15,
        )
        to["port"] = reflector.port()
    answer = session.a.call(
        "rtt",
        seconds + session.patience_ms(TIMEOUT_MS) / 1000 + 10,
        protocol=parameters.protocol,
        rate_pps=parameters.rate_pps,
        sampling=parameters.sampling,
        count=parameters.probes,
        payload_size=parameters.packet_size - HEADERS[parameters.protocol],
        timeout_ms=session.patience_ms(TIMEOUT_MS),
        spin_us=parameters.spin_ns // 1000,
        **to,
        **session.marks,
    )
    found = parse(RttResult, answer)
    ended = None if reflector is None else reflector.stop()
    if parameters.protocol is Protocol.TCP and ended is not None:
        own, far = found.tcp_info or TcpInfo(), parse(Responded, ended).tcp_info or TcpInfo()
        return found, transaction_traffic(own, far, connections=1)
    return found, unseen_echo_traffic(found.sent, found.received, parameters.packet_size)


def _metrics(found: RttResult) -> list[Metric]:
    late_ns = found.schedule_error_p99_ns
    values = {
        "probes_sent": found.sent,
        "probes_overdue": found.overdue,
        "probes_lost": found.lost,
        "loss_ratio": found.lost / max(found.sent, 1),
        **{
            f"rtt_{name}_us": found.us(name, found.received)
            for name in ("min", "mean", *SHARES, "max")
        },
        "rtt_actual_p50_us": None if found.p50_actual_ns is None else found.p50_actual_ns / 1e3,
        "schedule_error_p99_us": None if late_ns is None else late_ns / 1e3,
    }
    return measured(Rtt.metrics, values)


def _all_sent(found: RttResult, planned: int) -> Check:
    errors = ", ".join(f"{name} {count}" for name, count in sorted(found.send_errors.items()))
    return Check(
        "every probe was sent",
        found.sent == planned,
        f"{found.sent} of {planned} probes" + (f"; refused: {errors}" if errors else ""),
        "the node or the tunnel accepted no more: see its log, or lower the rate",
    )


def _on_time(found: RttResult) -> Check:
    """Times count from when a probe was due; if the sender is late, they contain its own delay."""
    return Check(
        GENERATOR,
        found.overdue <= MAX_OVERDUE * found.sent,
        f"{found.overdue} of {found.sent} probes were sent after the next one was already due",
        "lower the rate, or give the nodes a core each",
    )


def _enough(received: int, sent: int) -> Check:
    return Check(
        "most probes are answered",
        received > 0 and received >= (1 - MAX_LOSS) * sent,
        f"{received} of {sent} probes were answered",
        "percentiles of the few answered probes are biased: lower the rate",
    )
