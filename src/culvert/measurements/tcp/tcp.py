"""``tcp``: goodput of TCP connections in one or both directions, and the kernel's TCP_INFO.

Goodput is what the receiver's application read (RFC 2647, 3.17), without the warm-up, while slow
start has not filled the path. The congestion control is part of the condition; default CUBIC.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator

from culvert.measurements.base import SAMPLE_ONE_IN, BaseParameters, Measurement
from culvert.measurements.ceiling import TCP_CEILING_S, tcp_ceiling_bps
from culvert.measurements.instruments.base import THROUGHPUT, Instrument, Load, refuse
from culvert.measurements.instruments.run import measure_throughput
from culvert.measurements.parameters import (
    DIRECTION,
    INSTRUMENT,
    Congestion,
    Duration,
    SocketBuffer,
    Streams,
)
from culvert.measurements.streams.goodput import goodput_bps
from culvert.measurements.streams.packet import TCP_HEADERS, intact, received
from culvert.measurements.streams.tcp_load import (
    WRITE_BYTES,
    FlowDirection,
    Loaded,
    TcpLoad,
    TcpStreams,
    controlled,
)
from culvert.metrics import CPU_S_PER_GB, Better, HeadlineColumn, MetricSpec, Weight
from culvert.probe.results import TcpSourceInterval
from culvert.proof.known import KnownPath
from culvert.proof.limits import connection_is_not_the_limit
from culvert.proof.truth import Truth, exactly
from culvert.results import Label, Metric, Series, measured
from culvert.trial.check import Check, Crossing
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.traffic import add_traffic
from culvert.units import DurationS
from culvert.vpns.variant import Carried

_END_TO_END = (
    "goodput_bps",
    "goodput_up_bps",
    "goodput_down_bps",
    "ceiling_goodput_bps",
    "stream_fairness",
    "received_bytes",
)
"""All else is of the sender's own connection, which a proxy ends on the same node."""
WriteSize = Annotated[
    int,
    Field(ge=1, le=1 << 20),
    BeforeValidator(
        lambda value: WRITE_BYTES if value == "max" else value, json_schema_input_type=int | str
    ),
]
"""Bytes; "max" is the size that fills a connection with the fewest calls."""


class TcpParameters(BaseParameters):
    """Parameters of connections that always have data to send."""

    direction: Annotated[FlowDirection, Label("{}", DIRECTION)] = FlowDirection.UP
    """From a to b, from b to a, or both at once."""
    streams: Streams = 1
    """Connections in each direction."""
    congestion_control: Congestion = "cubic"
    """Congestion control, by the kernel's name."""
    nodelay: Annotated[bool, Label("TCP_NODELAY {}")] = False
    """Nagle's algorithm is off."""
    write_size: Annotated[WriteSize, Label("writes of {} bytes")] = WRITE_BYTES
    """Bytes of each write."""
    socket_buffer_bytes: SocketBuffer | None = Field(None, alias="socket_buffer")
    """The sender's send buffer and the receiver's receive buffer, in bytes of setsockopt; without
    it, the kernel grows them."""
    duration_s: Duration = 10.0
    """Measured time."""
    warmup_s: Annotated[DurationS, Label("after {} of warm-up", unit="s")] = Field(
        0.5, alias="warmup"
    )
    """Time before it, which is not measured."""
    instrument: Annotated[Instrument, INSTRUMENT] = Instrument.PROBE
    """The program that sends and counts. Only the probe uses ``warmup``."""

    @model_validator(mode="after")
    def _instrument_can(self) -> Self:
        refuse(
            self.instrument,
            THROUGHPUT,
            {
                "way of sending both ways at once": self.direction is FlowDirection.BOTH,
                "duration in parts of a second": self.duration_s != round(self.duration_s),
                "nodelay": self.nodelay and self.instrument is Instrument.NUTTCP,
                "socket buffer here": (
                    self.socket_buffer_bytes is not None and self.instrument is Instrument.NUTTCP
                ),
            },
        )
        return self

    @property
    def tcp_streams(self) -> TcpStreams:
        """The connections, warm-up included."""
        return TcpStreams(
            duration_s=self.warmup_s + self.duration_s,
            direction=self.direction,
            streams=self.streams,
            congestion_control=self.congestion_control,
            write_size=self.write_size,
            nodelay=self.nodelay,
            socket_buffer_bytes=self.socket_buffer_bytes,
        )


class Tcp(Measurement[TcpParameters]):
    """TCP connections between node a and node b."""

    kind: ClassVar[str] = "tcp"
    title: ClassVar[str] = "TCP"
    summary: ClassVar[str] = "TCP goodput, retransmissions, congestion window and round trip"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec(
            "goodput_bps",
            "bit/s",
            "Goodput",
            Better.MORE,
            Weight.MAIN,
            column=HeadlineColumn(
                "TCP goodput",
                key="tcp",
                place=10,
                superlative="Highest TCP goodput",
                sentence="carries {} of TCP",
            ),
        ),
        MetricSpec("goodput_up_bps", "bit/s", "Goodput from a to b", Better.MORE),
        MetricSpec("goodput_down_bps", "bit/s", "Goodput from b to a", Better.MORE),
        MetricSpec("ceiling_goodput_bps", "bit/s", "Goodput beside the tunnel"),
        MetricSpec("retransmitted_segments", "segments", "Segments sent again", Better.LESS),
        MetricSpec("retransmit_ratio", "1", "Share of segments sent again", Better.LESS),
        MetricSpec("mss_bytes", "bytes", "Maximum segment size", Better.MORE),
        MetricSpec(
            "tcp_rtt_p50_us",
            "us",
            "Round trip of TCP, median",
            Better.LESS,
            ways=2,
            of_packets=True,
        ),
        MetricSpec("cwnd_p50_segments", "segments", "Congestion window, median"),
        MetricSpec("stream_fairness", "1", "Fairness between streams (Jain)"),
        replace(
            CPU_S_PER_GB,
            column=HeadlineColumn(
                "CPU per gigabyte, TCP",
                key="cpu",
                place=40,
                superlative="Least CPU per gigabyte",
                sentence="takes {} the CPU per gigabyte",
            ),
        ),
    )
    Parameters = TcpParameters
    saturates: ClassVar[bool] = True

    @classmethod
    def estimate_s(cls, parameters: TcpParameters) -> float:
        return parameters.duration_s + parameters.warmup_s

    @classmethod
    def truths(cls, known: KnownPath, parameters: TcpParameters) -> Sequence[Truth]:
        if parameters.socket_buffer_bytes is not None:
            return []  # whichever is less, its window or the path
        ways, seconds = parameters.tcp_streams.ways, parameters.duration_s
        found = filling(known, "goodput_bps", seconds, *ways)
        found += filling(known, "goodput_up_bps", seconds, True)
        found += filling(known, "goodput_down_bps", seconds, False)
        found += bare_ceiling(known, *ways)
        waiting_ns = sum(known.queue_ns(upward=way) or 0.0 for way in ways)
        words = "the delay there and back, and the queue"
        found += known.times(
            ["tcp_rtt_p50_us"], "us", known.round_trip_ns(), words, longer_ns=waiting_ns
        )
        if known.fills:
            mss = known.mtu - TCP_HEADERS
            found.append(exactly("mss_bytes", mss, f"the MTU less {TCP_HEADERS} bytes"))
        return found

    def run(self, session: Session, parameters: TcpParameters) -> Outcome:
        by_probe = parameters.instrument is Instrument.PROBE
        outcome = (self._by_probe if by_probe else _by_instrument)(session, parameters)
        if session.vpn.carries is Carried.PAYLOAD:
            outcome.metrics = [each for each in outcome.metrics if each.name in _END_TO_END]
            outcome.series = [each for each in outcome.series if each.name in _END_TO_END]
        return outcome

    def _by_probe(self, session: Session, parameters: TcpParameters) -> Outcome:
        streams = parameters.tcp_streams
        ceiling_bps = tcp_ceiling_bps(session, streams)
        with session.watch(sample_one_in=SAMPLE_ONE_IN) as watched:
            loads = [TcpLoad(session, streams, upward=upward) for upward in streams.ways]
            loaded = [load.finish() for load in loads]
        total_bps = sum(goodput_bps(way.sunk, parameters.warmup_s) for way in loaded)
        return Outcome(
            metrics=[
                *measured(
                    self.metrics,
                    {"goodput_bps": total_bps, "ceiling_goodput_bps": ceiling_bps},
                ),
                *_metrics(loaded, parameters.warmup_s),
            ],
            watched=[watched],
            traffic=add_traffic(*[way.traffic for way in loaded]),
            goodput_bytes=sum(way.sunk.bytes for way in loaded),
            series=[series for way in loaded for series in _series(way)],
            doubts=[
                intact(sum(way.sunk.corrupt_samples for way in loaded)),
                _arrived(loaded),
                controlled(
                    {way.sent.congestion_control for way in loaded}, parameters.congestion_control
                ),
                *(check for way in loaded for check in way.buffered(streams.socket_buffer_bytes)),
                *connection_is_not_the_limit(total_bps, ceiling_bps),
            ],
        )


def _by_instrument(session: Session, parameters: TcpParameters) -> Outcome:
    up = parameters.direction is FlowDirection.UP
    to = session.inner(session.target if up else session.source)
    load = Load(
        to,
        udp=False,
        duration_s=round(parameters.duration_s),
        size=parameters.write_size,
        streams=parameters.streams,
        congestion_control=parameters.congestion_control,
        nodelay=parameters.nodelay,
        socket_buffer_bytes=parameters.socket_buffer_bytes,
    )
    report, outcome = measure_throughput(session, parameters.instrument, load, up=up)
    values = {"goodput_bps": report.goodput_bps, "retransmitted_segments": report.retransmits}
    outcome.metrics += measured(Tcp.metrics, values)
    return outcome


def filling(known: KnownPath, metric: str, seconds: float, *ways: bool) -> list[Truth]:
    """The goodput of a connection whose segments fill the link, each way of ``ways`` (True: up)."""
    return known.goodput(metric, [known.mtu], TCP_HEADERS, seconds, *ways)


def bare_ceiling(known: KnownPath, *ways: bool) -> list[Truth]:
    """The goodput of as many connections beside the tunnel."""
    return known.payload(["ceiling_goodput_bps"], [], TCP_HEADERS, TCP_CEILING_S, *ways)


def _metrics(loaded: Sequence[Loaded], warmup_s: float) -> list[Metric]:
    """Metrics of all connections; times and windows are medians over connections and intervals."""
    retransmitted = sum(way.sent.retransmits for way in loaded)
    segments = sum(way.sent.data_segs_out for way in loaded)
    late = [
        interval
        for way in loaded
        for intervals in way.sent.by_stream
        for interval in _after(intervals, warmup_s)
    ]
    carried = [count for way in loaded for count in way.by_stream]
    values: dict[str, float | None] = {
        "retransmitted_segments": retransmitted,
        "retransmit_ratio": retransmitted / max(segments, 1),
        "mss_bytes": min(way.sent.mss for way in loaded),
        "tcp_rtt_p50_us": statistics.median(i.rtt_us for i in late) if late else None,
        "cwnd_p50_segments": statistics.median(i.cwnd for i in late) if late else None,
        "stream_fairness": fairness(carried) if len(loaded[0].by_stream) > 1 else None,
    }
    if len(loaded) > 1:
        values |= {f"goodput_{way.way}_bps": goodput_bps(way.sunk, warmup_s) for way in loaded}
    return measured(Tcp.metrics, values)


def fairness(shares: Sequence[float]) -> float:
    """Jain's index (RFC 5166, 2.3): 1 if all have the same goodput, 1/n if one has it all."""
    squares = sum(share**2 for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 1.0


def _after(intervals: Sequence[TcpSourceInterval], warmup_s: float) -> Sequence[TcpSourceInterval]:
    """Intervals after the warm-up; all of them if there are none."""
    begin_ns = (intervals[0].t_ns if intervals else 0) + round(warmup_s * 1e9)
    return [interval for interval in intervals if interval.t_ns >= begin_ns] or intervals


def _series(way: Loaded) -> list[Series]:
    """Received bytes in all, and TCP_INFO of each connection."""

    def of(name: str, unit: str, points: Sequence[Any], value: str, **labels: str) -> Series:
        shown = ((point.t_ns, getattr(point, value)) for point in points)
        return Series.of(name, unit, shown, direction=way.way, **labels)

    series = [received(way.sunk.intervals, direction=way.way)]
    for number, intervals in enumerate(way.sent.by_stream):
        stream = str(number)
        series += [
            of("cwnd_segments", "segments", intervals, "cwnd", stream=stream),
            of("tcp_rtt_us", "us", intervals, "rtt_us", stream=stream),
            of("tcp_rttvar_us", "us", intervals, "rttvar_us", stream=stream),
            of("acknowledged_bytes", "bytes", intervals, "bytes_acked", stream=stream),
            of("retransmits", "segments", intervals, "retransmits", stream=stream),
            of("path_mtu_bytes", "bytes", intervals, "pmtu", stream=stream),
        ]
    return series


def _arrived(loaded: Sequence[Loaded]) -> Check:
    least = min(count for way in loaded for count in way.by_stream)
    return Crossing(
        "data arrived",
        least > 0,
        f"the slowest connection carried {least} bytes",
        "the connection was opened but carried no data: try 'culvert up'",
    )
