"""``tcp``: goodput of one TCP connection or several, a to b, with what the kernel says of it.

Goodput is what the receiver's application read (RFC 2647, 3.17), without the warm-up, in which slow
start has not filled the path. The congestion control is part of the condition: CUBIC unless asked.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from culvert.journal.record import Metric, Series
from culvert.measurements.base import BaseParameters, Measurement, Outcome
from culvert.measurements.ceiling import tcp_ceiling_bps, tcp_ceiling_metrics
from culvert.measurements.integrity import intact
from culvert.measurements.session import Session
from culvert.measurements.tcp_flows import inner_traffic
from culvert.probe.results import TcpSource, TcpSunk, parse
from culvert.proof.check import Check
from culvert.proof.limits import connection_is_not_the_limit
from culvert.units import DurationS

INTERVAL_MS = 100
SAMPLE_ONE_IN = 64


class TcpParameters(BaseParameters):
    """``duration`` counts after ``warmup``; ``write_size`` is bytes per write."""

    duration_s: Annotated[DurationS, Field(gt=0)] = Field(10.0, alias="duration")
    warmup_s: DurationS = Field(0.5, alias="warmup")
    congestion_control: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,15}$")] = "cubic"
    write_size: Annotated[int, Field(ge=1, le=1 << 20)] = 131072
    nodelay: bool = False


class Tcp(Measurement[TcpParameters]):
    """One TCP connection from node a to node b."""

    kind: ClassVar[str] = "tcp"
    summary: ClassVar[str] = "TCP goodput, retransmissions, congestion window and round trip"
    headline: ClassVar[str] = "goodput_bps"
    metrics: ClassVar[Mapping[str, str]] = {
        "goodput_bps": "bit/s",
        "ceiling_goodput_bps": "bit/s",
        "retransmitted_segments": "segments",
        "cwnd_p50_segments": "segments",
        "retransmit_ratio": "1",
        "mss_bytes": "bytes",
        "tcp_rtt_p50_us": "us",
    }
    Parameters = TcpParameters

    @classmethod
    def estimate_s(cls, parameters: TcpParameters) -> float:
        """Seconds of one trial."""
        return parameters.duration_s + parameters.warmup_s

    def run(self, session: Session, parameters: TcpParameters) -> Outcome:
        """Fill the tunnel for the time asked."""
        seconds = parameters.warmup_s + parameters.duration_s
        ceiling_bps = tcp_ceiling_bps(session, parameters.congestion_control)
        sink = session.b.begin(
            "tcp_sink",
            bind=session.inner(session.lab.b),
            duration_max_s=seconds + 10,
            interval_ms=INTERVAL_MS,
            **session.marks,
        )
        port = sink.port()
        with session.watch(sample_one_in=SAMPLE_ONE_IN) as watched:
            source = session.a.begin(
                "tcp_source",
                connect=session.inner(session.lab.b),
                port=port,
                duration_s=seconds,
                congestion_control=parameters.congestion_control,
                write_size=parameters.write_size,
                nodelay=parameters.nodelay,
                interval_ms=INTERVAL_MS,
                **session.marks,
            )
            sent = parse(TcpSource, source.result(seconds + 15))
            sunk = parse(TcpSunk, sink.result(15))
        series = _series(sent, sunk)
        return Outcome(
            metrics=[
                *_metrics(sent, sunk, parameters.warmup_s),
                *tcp_ceiling_metrics(ceiling_bps),
            ],
            watched=[watched],
            traffic=inner_traffic(sent, sunk),
            goodput_bytes=sunk.bytes,
            series=series,
            doubts=[
                intact(sunk.corrupt_samples),
                Check(
                    "data arrived",
                    sunk.bytes > 0,
                    f"{sunk.bytes} bytes arrived",
                    "the connection was made but nothing came through it: try 'culvert up'",
                ),
                Check(
                    "congestion control",
                    sent.congestion_control == parameters.congestion_control,
                    f"the kernel used {sent.congestion_control}",
                    "load the module of the congestion control that the study asks for",
                ),
                *connection_is_not_the_limit(goodput_bps(sunk, parameters.warmup_s), ceiling_bps),
            ],
        )


def goodput_bps(sunk: TcpSunk, warmup_s: float) -> float:
    """Bits per second that arrived after the warm-up; all of it if there was nothing after it.

    Whole intervals only: from the first that begins after the warm-up to the last byte.
    """
    if sunk.first_ns is None or sunk.last_ns is None:
        return 0.0
    begin_ns = sunk.first_ns + round(warmup_s * 1e9)
    late = [interval for interval in sunk.intervals if interval.t_ns > begin_ns]
    if len(late) < 2:
        return 8e9 * sunk.bytes / max(sunk.last_ns - sunk.first_ns, 1)
    counted = sum(interval.bytes for interval in late[1:])
    return 8e9 * counted / max(late[-1].t_ns - late[0].t_ns, 1)


def _metrics(sent: TcpSource, sunk: TcpSunk, warmup_s: float) -> list[Metric]:
    begin_ns = (sent.intervals[0].t_ns if sent.intervals else 0) + round(warmup_s * 1e9)
    late = [interval for interval in sent.intervals if interval.t_ns >= begin_ns] or sent.intervals
    found: list[Metric] = [
        Metric("goodput_bps", "bit/s", goodput_bps(sunk, warmup_s)),
        Metric("retransmitted_segments", "segments", sent.retransmits),
        Metric("retransmit_ratio", "1", sent.retransmits / max(sent.data_segs_out, 1)),
        Metric("mss_bytes", "bytes", sent.mss),
    ]
    if late:
        found += [
            Metric("tcp_rtt_p50_us", "us", statistics.median(i.rtt_us for i in late)),
            Metric("cwnd_p50_segments", "segments", statistics.median(i.cwnd for i in late)),
        ]
    return found


def _series(sent: TcpSource, sunk: TcpSunk) -> list[Series]:
    def of(name: str, unit: str, points: list[Any], value: str) -> Series:
        return Series(
            name,
            unit,
            [point.t_ns for point in points],
            [getattr(point, value) for point in points],
        )

    return [
        of("received_bytes", "bytes", sunk.intervals, "bytes"),
        of("cwnd_segments", "segments", sent.intervals, "cwnd"),
        of("tcp_rtt_us", "us", sent.intervals, "rtt_us"),
        of("retransmits", "segments", sent.intervals, "retransmits"),
    ]
