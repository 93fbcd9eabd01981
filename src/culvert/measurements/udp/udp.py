"""``udp``: how many UDP packets arrive, and where the others were lost.

Loss under a flood is not loss of the network. Goodput counts what arrived; separate metrics count
the packets lost in the receiver's socket, a queue, an interface, the tunnel or the link.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from culvert.measurements.base import SAMPLE_ONE_IN, BaseParameters, Measurement
from culvert.measurements.ceiling import (
    CEILING_METRICS,
    ceiling_metrics,
    ceiling_truths,
    udp_ceiling,
)
from culvert.measurements.instruments.base import THROUGHPUT, Instrument, Load, refuse
from culvert.measurements.instruments.run import measure_throughput
from culvert.measurements.mtu.max_size import find_max_size
from culvert.measurements.parameters import INSTRUMENT, RATE, SIZES, Duration, SocketBuffer
from culvert.measurements.streams.packet import UDP_HEADERS, intact, marked_run
from culvert.measurements.streams.socket_buffers import granted
from culvert.measurements.streams.udp_stream import Arrivals, UdpRun, UdpStream, UdpTrial, quiet_ms
from culvert.measurements.udp.arrivals import (
    ARRIVAL_METRICS,
    arrival_histograms,
    arrival_metrics,
    arrival_series,
)
from culvert.measurements.udp.losses import LOSS_METRICS, locate_losses
from culvert.measurements.udp.offered_rate import AskedRate
from culvert.measurements.udp.packet_sizes import MAX, Sizes, parse_sizes
from culvert.metrics import Better, HeadlineColumn, MetricSpec, Weight
from culvert.proof.known import KnownPath
from culvert.proof.limits import Offered, generator_is_not_the_limit, receiver_is_not_the_limit
from culvert.proof.truth import Truth
from culvert.results import Label, Metric, measured
from culvert.study.table import problem
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.units import DurationS

Port = Annotated[int, Field(ge=0, le=65535)]


class UdpParameters(BaseParameters):
    """Parameters of streams of packets; patterns of sizes are in packet_sizes.py."""

    packet_size: Annotated[Sizes, replace(SIZES, always=True)] = MAX
    """Bytes of the inner IP packet; ``max`` for the largest that is not fragmented; or a pattern of
    sizes."""
    rate: Annotated[AskedRate | None, RATE] = None
    """Packets or bits of payload per second, of all flows; without it, as fast as possible."""
    duration_s: Duration = 10.0
    """Duration of sending."""
    arrivals: Annotated[Arrivals, Label("{} arrivals", {"constant": ""})] = Arrivals.CONSTANT
    """How packets are spaced."""
    burst: Annotated[int, Field(ge=1, le=10_000), Label("bursts of {}", {1: ""})] = 1
    """Packets that leave at once, for ``arrivals = "burst"``."""
    flows: Annotated[int, Field(ge=1, le=256), Label("{} flows", {1: "one flow"})] = 1
    """Flows, each from a port of its own."""
    threads: Annotated[int, Field(ge=1, le=64), Label("{} threads", {1: ""})] = 1
    """Threads of the sender, which share the flows."""
    port: Annotated[Port, Label("to port {}", {0: ""})] = 0
    """Port of the receiver; 0: any free port."""
    source_port: Annotated[Port, Label("from port {}", {0: ""})] = 0
    """Source port of the first flow, the others use those that follow; 0: any free ports."""
    interval_s: Annotated[DurationS, Field(ge=0.001, le=60), Label("a point every {}")] = Field(
        0.1, alias="interval"
    )
    """Time between two points of the series."""
    socket_buffer_bytes: SocketBuffer | None = Field(None, alias="socket_buffer")
    """The sender's send buffer and the receiver's receive buffer, in bytes of setsockopt; without
    it, the kernel's own for the sender, one that loses nothing for the receiver."""
    instrument: Annotated[Instrument, INSTRUMENT] = Instrument.PROBE
    """The program that sends and counts."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.arrivals is not Arrivals.CONSTANT and self.rate is None:
            raise problem(f"{self.arrivals} arrivals need a rate", "add a rate")
        if self.arrivals is not Arrivals.BURST and self.burst != 1:
            raise problem(
                f"burst needs burst arrivals, not {self.arrivals}", 'write arrivals = "burst"'
            )
        if self.threads > self.flows:
            why = f"{self.threads} threads cannot share {self.flows} flows"
            raise problem(why, "request at least as many flows")
        if self.source_port + self.flows > 1 << 16:
            why = f"there are fewer than {self.flows} ports from {self.source_port} on"
            raise problem(why, "request a lower source_port")
        nuttcp = self.instrument is Instrument.NUTTCP
        refuse(
            self.instrument,
            THROUGHPUT,
            {
                f"{self.arrivals} arrivals": self.arrivals is not Arrivals.CONSTANT,
                "choice of threads": self.threads != 1,
                "choice of ports here": bool(self.port or self.source_port),
                "pattern of packet sizes": len(set(parse_sizes(self.packet_size).pattern)) > 1,
                "duration in parts of a second": self.duration_s != round(self.duration_s),
                "several flows of UDP": nuttcp and self.flows > 1,
                "socket buffer here": nuttcp and self.socket_buffer_bytes is not None,
            },
        )
        return self


class Udp(Measurement[UdpParameters]):
    """UDP packets from node a to node b."""

    kind: ClassVar[str] = "udp"
    title: ClassVar[str] = "UDP"
    summary: ClassVar[str] = "UDP goodput and packets per second, and where packets were lost"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec("packet_size_bytes", "bytes", "Size of the inner IP packet"),
        MetricSpec("offered_bps", "bit/s", "Offered rate", offered=True),
        MetricSpec(
            "goodput_bps",
            "bit/s",
            "Goodput",
            Better.MORE,
            Weight.MAIN,
            column=HeadlineColumn(
                "UDP goodput, equal load",
                key="udp",
                place=20,
                superlative="Highest UDP goodput under equal load",
                sentence="carries {} of UDP under equal load",
                unless="tcp",
                smallest="packet_size",
                common="rate",
            ),
        ),
        MetricSpec("offered_pps", "packets/s", "Offered packets per second", offered=True),
        MetricSpec("received_pps", "packets/s", "Received packets per second", Better.MORE),
        MetricSpec("offered_packets", "packets", "Offered packets"),
        MetricSpec("received_packets", "packets", "Received packets", Better.MORE),
        MetricSpec("backlog_packets", "packets", "Packets received after the end", Better.LESS),
        MetricSpec("loss_ratio", "1", "Share of packets lost", Better.LESS),
        MetricSpec("kernel_segmentation", "1", "The kernel segments the source's messages"),
        MetricSpec("schedule_error_p99_us", "us", "Lateness of the sender, 99\u00a0%"),
        *ARRIVAL_METRICS,
        *LOSS_METRICS,
        *CEILING_METRICS,
    )
    Parameters = UdpParameters
    saturates: ClassVar[bool] = True

    @classmethod
    def estimate_s(cls, parameters: UdpParameters) -> float:
        return parameters.duration_s

    @classmethod
    def marked_run(cls, parameters: UdpParameters) -> int:
        return parse_sizes(parameters.packet_size).marked_run

    @classmethod
    def truths(cls, known: KnownPath, parameters: UdpParameters) -> Sequence[Truth]:
        sizes = parse_sizes(parameters.packet_size).resolved(known.mtu)
        most_pps, seconds = known.packets_per_s(sizes), parameters.duration_s
        offered_pps = parameters.rate.packets_per_s(sizes) if parameters.rate else math.inf
        transmitted = known.one_way_ns(min(sizes))
        found = known.times(["one_way_min_us"], "us", transmitted, "the delay and a transmission")
        found += ceiling_truths(known, sizes)
        if most_pps is not None and offered_pps > most_pps:
            found += known.goodput("goodput_bps", sizes, UDP_HEADERS, seconds, True)
            return [*found, *known.packets(["received_pps"], sizes, seconds)]
        found += known.payload(["goodput_bps"], sizes, UDP_HEADERS, seconds, True)
        found += known.packets(["received_pps"], sizes, seconds, filling=False)
        if math.isfinite(offered_pps):
            found += known.loss("loss_ratio", seconds * offered_pps)
        return found

    def run(self, session: Session, parameters: UdpParameters) -> Outcome:
        if parameters.instrument is not Instrument.PROBE:
            return _by_instrument(session, parameters)
        stream = _stream(session, parameters)
        run = UdpRun(session, stream, quiet_ms(session, stream.to))
        run_bytes = marked_run(min(stream.sizes))
        with session.watch(sample_one_in=SAMPLE_ONE_IN, marked_run=run_bytes) as watched:
            trial = run.start().finish()
        sent, sunk = trial.sent, trial.sunk
        losses = locate_losses(session, watched, sent.offered, sunk)
        offered = Offered(sent.offered, sent.seconds, losses.in_path, sent.scheduled)
        ceiling = None if offered.on_schedule else udp_ceiling(session, stream, sent.segmentation)
        return Outcome(
            metrics=[
                *_metrics(trial),
                *arrival_metrics(sunk),
                *losses.metrics(),
                *(ceiling_metrics(ceiling) if ceiling else []),
            ],
            watched=[watched],
            traffic=trial.traffic,
            goodput_bytes=sunk.unique_bytes,
            series=arrival_series(sunk),
            histograms=arrival_histograms(sunk),
            doubts=[
                _conserved(trial),
                intact(sunk.corrupt),
                generator_is_not_the_limit(session.vpn, offered, ceiling),
                receiver_is_not_the_limit(session.vpn, sunk.packets, losses.socket),
                _record_segmentation(trial),
                *granted(
                    stream.socket_buffer_bytes,
                    sent.send_buffer_effective,
                    sunk.receive_buffer_effective,
                ),
            ],
        )


def _stream(session: Session, parameters: UdpParameters) -> UdpStream:
    requested = parse_sizes(parameters.packet_size)
    sizes = requested.resolved(find_max_size(session) if requested.needs_max else None)
    return UdpStream(
        to=session.inner(session.target),
        sizes=sizes,
        duration_s=parameters.duration_s,
        rate_pps=parameters.rate.packets_per_s(sizes) if parameters.rate else None,
        arrivals=parameters.arrivals,
        burst=parameters.burst,
        flows=parameters.flows,
        threads=parameters.threads,
        port=parameters.port,
        source_port=parameters.source_port,
        interval_ms=round(parameters.interval_s * 1000),
        socket_buffer_bytes=parameters.socket_buffer_bytes,
    )


def _by_instrument(session: Session, parameters: UdpParameters) -> Outcome:
    stream = _stream(session, parameters)
    (size,) = stream.sizes
    payload = size - UDP_HEADERS
    rate_pps = stream.rate_pps
    load = Load(
        to=session.inner(session.target),
        udp=True,
        duration_s=round(parameters.duration_s),
        size=payload,
        streams=parameters.flows,
        rate_bps=None if rate_pps is None else 8 * payload * rate_pps,
        socket_buffer_bytes=parameters.socket_buffer_bytes,
    )
    report, outcome = measure_throughput(session, parameters.instrument, load)
    sent, lost = report.sent_packets or 0, report.lost_packets or 0
    values = {
        "goodput_bps": report.goodput_bps,
        "offered_pps": sent / parameters.duration_s,
        "received_pps": report.goodput_bps / (8 * payload),
        "packet_size_bytes": size,
        "offered_packets": sent,
        "received_packets": sent - lost,
        "loss_ratio": lost / max(sent, 1),
    }
    outcome.metrics += measured(Udp.metrics, values)
    return outcome


def _metrics(trial: UdpTrial) -> list[Metric]:
    sent, sunk = trial.sent, trial.sunk
    sending_s = max(sent.seconds, 1e-9)
    lost = sent.offered - sunk.unique
    mean_payload = sent.bytes / max(sent.packets, 1)
    size = trial.length or mean_payload + UDP_HEADERS
    values = {
        "packet_size_bytes": size,
        "offered_bps": 8 * mean_payload * sent.offered / sending_s,
        "goodput_bps": trial.forwarded.bps,
        "offered_pps": sent.offered / sending_s,
        "received_pps": trial.forwarded.pps,
        "offered_packets": sent.offered,
        "received_packets": sunk.unique,
        "backlog_packets": sunk.backlog,
        "loss_ratio": lost / max(sent.offered, 1),
        "kernel_segmentation": sent.segmentation == "kernel",
        "schedule_error_p99_us": None if sent.late_p99_ns is None else sent.late_p99_ns / 1e3,
    }
    return measured(Udp.metrics, values)


def _conserved(trial: UdpTrial) -> Check:
    unique, sent = trial.unique, trial.sent.packets
    return Check(
        "packets are conserved",
        0 < unique <= sent,
        f"{unique} packets arrived of {sent} sent",
        "none arrived, or more than were sent: report it, with the VPN's log",
    )


def _record_segmentation(trial: UdpTrial) -> Check:
    """Never fails: it records in the evidence which part segmented the messages, and why."""
    maker = "the kernel" if trial.sent.segmentation == "kernel" else "the generator"
    return Check(
        "source of segmentation is recorded",
        passed=True,
        detail=f"{maker} made each packet: {trial.sent.segmentation_why or 'no reason reported'}",
    )
