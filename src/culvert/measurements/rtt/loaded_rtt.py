"""``loaded_rtt``: round trips while TCP fills the tunnel, beside those of the idle tunnel.

::

    idle:    echo requests only
    loaded:  TCP a to b, b to a, or both at once; echo requests from half a second later

The increase is the delay in queues of the tunnel and below it (bufferbloat), as in flent's rrul.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from culvert.measurements.base import SAMPLE_ONE_IN, BaseParameters, Measurement
from culvert.measurements.parameters import (
    LOADED,
    RATE,
    SAMPLING,
    Congestion,
    Duration,
    PacketSize,
    Sampling,
    Spin,
    Streams,
)
from culvert.measurements.rtt.noise_floor import FLOOR_METRICS, floor_metrics, noise_floor
from culvert.measurements.streams.packet import TCP_HEADERS, UDP_HEADERS, intact, received
from culvert.measurements.streams.tcp_load import FlowDirection, Loaded, TcpLoad, TcpStreams
from culvert.metrics import Better, MetricSpec, Weight, family
from culvert.probe.results import RttResult
from culvert.proof.known import KnownPath
from culvert.proof.truth import Truth
from culvert.results import Histogram, Label, Metric, measured
from culvert.trial.check import Check
from culvert.trial.echo import Echo
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.traffic import add_traffic, echo_traffic
from culvert.units import DurationS, PerSecond

TIMEOUT_MS = 1000
LEAD_S = 0.5
"""The load fills the path before the first probe is sent, and lasts until the last has arrived."""
PERCENTILES = ("p50", "p90", "p99")
_WEIGHTS = {"rtt_loaded_p50_us": Weight.MAIN, "rtt_loaded_p99_us": Weight.KEY}


class LoadedRttParameters(BaseParameters):
    """Parameters of the echo requests and of the load."""

    load: Annotated[FlowDirection, Label("load {}", LOADED)] = FlowDirection.BOTH
    """Direction of the TCP load: from a to b, from b to a, or both at once."""
    streams: Streams = 1
    """Connections in each loaded direction."""
    idle_s: Annotated[DurationS, Field(gt=0), Label("idle for {}")] = Field(2.0, alias="idle")
    """Time of echo requests without load."""
    duration_s: Duration = 5.0
    """Time of echo requests under load."""
    rate_pps: Annotated[PerSecond, Field(gt=0, le=100_000), RATE] = Field(200, alias="rate")
    """Echo requests per second."""
    sampling: Annotated[Sampling, SAMPLING] = Sampling.SCATTERED
    """Spread of the echo requests over time, as for `rtt`."""
    packet_size: PacketSize = 84
    """Bytes of the inner IP packet of an echo request."""
    congestion_control: Congestion = "cubic"
    """Congestion control of the load, by the kernel's name."""
    spin_ns: Spin = Field(100_000, alias="spin")
    """For this time before each probe is due the sender polls the clock without sleeping."""


class LoadedRtt(Measurement[LoadedRttParameters]):
    """Echo requests from node a to node b, idle and under TCP."""

    kind: ClassVar[str] = "loaded_rtt"
    title: ClassVar[str] = "Round trip under load"
    summary: ClassVar[str] = "round-trip time under TCP load, and its increase over idle"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec(
            "rtt_idle_p50_us", "us", "Round trip when idle, median", Better.LESS, drawn=True, ways=2
        ),
        *family(
            "rtt_idle_{}_us", "us", "Round trip when idle", ("p90", "p99"), Better.LESS, ways=2
        ),
        *(
            replace(one, weight=_WEIGHTS.get(one.name, Weight.DETAIL))
            for one in family(
                "rtt_loaded_{}_us", "us", "Round trip under load", PERCENTILES, Better.LESS, ways=2
            )
        ),
        *family(
            "rtt_increase_{}_us", "us", "Increase over idle", ("p50", "p90", "p99"), Better.LESS
        ),
        MetricSpec("load_up_bps", "bit/s", "Load from a to b", Better.MORE),
        MetricSpec("load_down_bps", "bit/s", "Load from b to a", Better.MORE),
        MetricSpec("probe_loss_idle_ratio", "1", "Share of probes lost when idle", Better.LESS),
        MetricSpec("probe_loss_loaded_ratio", "1", "Share of probes lost under load", Better.LESS),
        *FLOOR_METRICS,
    )
    Parameters = LoadedRttParameters
    saturates: ClassVar[bool] = True

    @classmethod
    def estimate_s(cls, parameters: LoadedRttParameters) -> float:
        return parameters.idle_s + parameters.duration_s + 2 * LEAD_S

    @classmethod
    def truths(cls, known: KnownPath, parameters: LoadedRttParameters) -> Sequence[Truth]:
        size, seconds = parameters.packet_size, parameters.duration_s
        words = "the delay and a transmission, there and back"
        least_ns = known.round_trip_ns(size)
        found = known.times(["rtt_idle_p50_us"], "us", least_ns, words)
        queues_ns = [known.queue_ns(upward=way) for way in (True, False)]
        if None not in queues_ns:
            loaded = ["rtt_loaded_p50_us", "rtt_loaded_p99_us"]
            waiting_ns = sum(each or 0.0 for each in queues_ns)
            words = "the same, and what the queues hold"
            found += known.times(loaded, "us", least_ns, words, longer_ns=waiting_ns)
        for metric, way in (("load_up_bps", True), ("load_down_bps", False)):
            found += known.payload([metric], [], TCP_HEADERS, seconds, way)
        return found

    def run(self, session: Session, parameters: LoadedRttParameters) -> Outcome:
        """Idle first, then loaded, in one watch."""
        lasting_s = parameters.duration_s + 2 * LEAD_S
        streams = TcpStreams(
            lasting_s, parameters.load, parameters.streams, parameters.congestion_control
        )
        echo = Echo(session, parameters.idle_s + lasting_s + 30)
        floor = noise_floor(
            session,
            size=parameters.packet_size,
            rate_pps=parameters.rate_pps,
            count=_count(parameters, parameters.idle_s),
            sampling=parameters.sampling,
            spin_us=parameters.spin_ns // 1000,
        )
        with session.watch(sample_one_in=SAMPLE_ONE_IN) as watched:
            idle = _probed(session, echo, parameters, parameters.idle_s)
            loads = [TcpLoad(session, streams, upward=upward) for upward in streams.ways]
            time.sleep(LEAD_S)  # part of the method: slow start is over
            loaded = _probed(session, echo, parameters, parameters.duration_s)
            finished = [load.finish() for load in loads]
            reflected = echo.close().packets
        sent, answered = idle.sent + loaded.sent, idle.received + loaded.received
        return Outcome(
            metrics=[*_metrics(idle, loaded, finished), *floor_metrics(floor)],
            watched=[watched],
            traffic=add_traffic(
                echo_traffic(sent, reflected, answered, parameters.packet_size),
                *[each.traffic for each in finished],
            ),
            goodput_bytes=sum(each.sunk.bytes for each in finished),
            series=[received(each.sunk.intervals, direction=each.way) for each in finished],
            histograms=Histogram.all(noise_floor_ns=floor, rtt_idle_ns=idle, rtt_loaded_ns=loaded),
            doubts=[
                *_answered(idle, loaded),
                _carried(finished),
                intact(
                    idle.corrupt + loaded.corrupt + sum(e.sunk.corrupt_samples for e in finished)
                ),
            ],
        )


def _probed(
    session: Session, echo: Echo, parameters: LoadedRttParameters, seconds: float
) -> RttResult:
    return echo.rtt(
        rate_pps=parameters.rate_pps,
        count=_count(parameters, seconds),
        payload_size=parameters.packet_size - UDP_HEADERS,
        timeout_ms=session.patience_ms(TIMEOUT_MS),
        sampling=parameters.sampling,
        spin_us=parameters.spin_ns // 1000,
    )


def _count(parameters: LoadedRttParameters, seconds: float) -> int:
    return max(round(parameters.rate_pps * seconds), 1)


def _metrics(idle: RttResult, loaded: RttResult, loads: list[Loaded]) -> list[Metric]:
    values: dict[str, float | None] = {
        "probe_loss_idle_ratio": idle.lost / max(idle.sent, 1),
        "probe_loss_loaded_ratio": loaded.lost / max(loaded.sent, 1),
    }
    for name in PERCENTILES:
        before, under = (result.us(name, result.received) for result in (idle, loaded))
        values |= {
            f"rtt_idle_{name}_us": before,
            f"rtt_loaded_{name}_us": under,
            f"rtt_increase_{name}_us": (
                None if before is None or under is None else under - before
            ),
        }
    values |= {f"load_{each.way}_bps": each.goodput_bps for each in loads}
    return measured(LoadedRtt.metrics, values)


def _answered(idle: RttResult, loaded: RttResult) -> list[Check]:
    return [
        Check(
            f"probes are answered ({name})",
            found.received > 0,
            f"{found.received} of {found.sent} probes were answered",
            "no probe was answered: lengthen the measurement",
        )
        for name, found in (("idle", idle), ("loaded", loaded))
    ]


def _carried(loads: list[Loaded]) -> Check:
    carried = [count for each in loads for count in each.by_stream]
    return Check(
        "every connection carried data",
        min(carried) > 0,
        f"the slowest of {len(carried)} connections carried {min(carried)} bytes",
        "the load was incomplete, so this is not latency under load: lengthen the measurement",
    )
