"""``throughput``: the highest rate without loss (NDR), and with little loss (PDR).

::

    tunnel, unpaced: the highest rate that the search may try
    tunnel, paced: trials of the search ... NDR, PDR
    tunnel, paced at 10, 50, 90 % of the PDR, beside echo requests: latency
    bare link: the generator's ceiling

The search is MLRsearch; its goal (duration sum, width, exceed ratio) is among the metrics. Only
the profile ``rfc2544`` (trials of 60 s, none of which may lose a packet) decides about a rate as
RFC 2544, section 26.1, does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from culvert.measurements.base import SAMPLE_ONE_IN, Measurement
from culvert.measurements.ceiling import (
    CEILING_METRICS,
    ceiling_metrics,
    ceiling_truths,
    udp_ceiling,
)
from culvert.measurements.mtu.max_size import find_max_size
from culvert.measurements.parameters import SIZES, PacketSize
from culvert.measurements.rtt.noise_floor import FLOOR_METRICS, floor_metrics, noise_floor
from culvert.measurements.streams.packet import intact, marked_run
from culvert.measurements.streams.udp_stream import UdpStream, UdpTrial, quiet_ms, udp_trial
from culvert.measurements.udp.goal import (
    GOAL_METRICS,
    SearchParameters,
    goal_metrics,
    search_checks,
    search_series,
)
from culvert.measurements.udp.packet_sizes import parse_sizes
from culvert.measurements.udp.rates import (
    LATENCY_METRICS,
    LOADS,
    RATE_METRICS,
    LoadedLatency,
    carried,
    loaded_latency,
    rate_metrics,
)
from culvert.measurements.udp.search import Bounds, SearchTrial, search
from culvert.metrics import MetricSpec
from culvert.probe.results import Floor
from culvert.proof.known import KnownPath
from culvert.proof.truth import Truth, exactly
from culvert.results import Histogram, Metric
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.traffic import InnerTraffic, add_traffic, echo_traffic
from culvert.units import DurationS, PerSecond

UNPACED_S = 0.3
EXPECTED_DECISIONS = 8
"""Approximate number of rates that the search decides."""
MOST = 1e7


RFC2544: Mapping[str, object] = {
    "trial": "60s",
    "duration_sum": "60s",
    "exceed_ratio": "0%",
    "search_max": "3600s",
}
"""The keys of the profile of that name: RFC 2544, sections 24 and 26.1."""


class ThroughputParameters(SearchParameters):
    """Parameters of the search, and of the round trips below its result."""

    packet_size: Annotated[PacketSize | Literal["max"], SIZES] = "max"
    """Bytes of the inner IP packet; ``max`` for the largest that is not fragmented."""
    profile: Literal["quick", "rfc2544"] = "quick"
    """``rfc2544``: trials of 60 s, one per rate, exceed ratio 0, unless stated otherwise."""
    latency_s: DurationS = Field(1.0, alias="latency")
    """Time of echo requests at each share of the PDR; 0: none."""
    latency_rate_pps: Annotated[PerSecond, Field(gt=0, le=100_000)] = Field(
        500, alias="latency_rate"
    )
    """Echo requests per second."""

    @model_validator(mode="before")
    @classmethod
    def _of_the_profile(cls, value: Any) -> Any:
        """What the profile states and the study does not."""
        if isinstance(value, dict) and value.get("profile") == "rfc2544":
            return {**RFC2544, **value}
        return value


class Throughput(Measurement[ThroughputParameters]):
    """NDR and PDR from node a to node b."""

    kind: ClassVar[str] = "throughput"
    title: ClassVar[str] = "Throughput without loss"
    summary: ClassVar[str] = "the highest rate with no loss (NDR) and with little (PDR), latency"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        *RATE_METRICS,
        *LATENCY_METRICS,
        *CEILING_METRICS,
        *GOAL_METRICS,
        MetricSpec("packet_size_bytes", "bytes", "Size of the inner IP packet"),
        *FLOOR_METRICS,
    )
    Parameters = ThroughputParameters
    saturates: ClassVar[bool] = True

    @classmethod
    def estimate_s(cls, parameters: ThroughputParameters) -> float:
        """Seconds of one trial, approximately: the search depends on its results."""
        return EXPECTED_DECISIONS * parameters.duration_sum_s + len(LOADS) * parameters.latency_s

    @classmethod
    def marked_run(cls, parameters: ThroughputParameters) -> int:
        return parse_sizes(parameters.packet_size).marked_run

    @classmethod
    def truths(cls, known: KnownPath, parameters: ThroughputParameters) -> Sequence[Truth]:
        largest = parameters.packet_size == "max"
        size = known.mtu if isinstance(parameters.packet_size, str) else parameters.packet_size
        return [
            *carried(known, [size], parameters.trial_s),
            *ceiling_truths(known, [size]),
            *known.times(
                [f"rtt_p50_at_pdr_{LOADS[0]}_us"],
                "us",
                known.round_trip_ns(size),
                "the delay and a transmission, there and back",
                longer_ns=known.one_way_ns(size) - known.one_way_ns(),
            ),
            *([exactly("packet_size_bytes", size, "the MTU")] if largest and known.bare else []),
        ]

    def run(self, session: Session, parameters: ThroughputParameters) -> Outcome:
        """Search, then measure latency below the result."""
        size = find_max_size(session) if parameters.packet_size == "max" else parameters.packet_size
        with session.watch(sample_one_in=SAMPLE_ONE_IN, marked_run=marked_run(size)) as watched:
            streams = _Streams(session, size)
            unpaced = streams.send(streams.unpaced)
            most_pps = unpaced.sent.offered / max(unpaced.sent.seconds, 1e-9)
            line = KnownPath.of(session).packets_per_s((size,))
            plan = parameters.plan(min(most_pps, line or MOST, MOST))
            (ndr, pdr), trials = search(streams.measure, plan)
            streams.measure_latencies(pdr, parameters)
        ceiling = udp_ceiling(session, streams.unpaced, unpaced.sent.segmentation)
        floor = _floor(session, size, parameters) if streams.latencies else None
        return Outcome(
            metrics=[
                *rate_metrics("ndr", ndr, size),
                *rate_metrics("pdr", pdr, size),
                Metric("packet_size_bytes", "bytes", size),
                *goal_metrics(parameters, trials),
                *ceiling_metrics(ceiling),
                *[metric for latency in streams.latencies for metric in latency.metrics()],
                *(floor_metrics(floor) if floor else []),
            ],
            watched=[watched],
            traffic=streams.traffic(),
            goodput_bytes=sum(trial.sunk.unique_bytes for trial in streams.all_trials),
            series=search_series(trials),
            histograms=[
                *Histogram.all(noise_floor_ns=floor),
                *[one for latency in streams.latencies for one in latency.histograms()],
            ],
            doubts=[
                *search_checks(session, ndr, pdr, trials, ceiling),
                intact(sum(trial.sunk.corrupt for trial in streams.all_trials)),
            ],
        )


class _Streams:
    """Sends, receives, and counts all packets that went through the tunnel."""

    def __init__(self, session: Session, size: int) -> None:
        self._session = session
        self._size = size
        self._to = session.inner(session.target)
        self._quiet_ms = quiet_ms(session, self._to)
        self.unpaced = UdpStream(self._to, (size,), UNPACED_S)
        self.all_trials: list[UdpTrial] = []
        self.latencies: list[LoadedLatency] = []

    def send(self, stream: UdpStream) -> UdpTrial:
        trial = udp_trial(self._session, stream, self._quiet_ms)
        self.all_trials.append(trial)
        return trial

    def measure(self, rate_pps: float, duration_s: float) -> SearchTrial:
        trial = self.send(replace(self.unpaced, rate_pps=rate_pps, duration_s=duration_s))
        return SearchTrial(
            rate_pps=rate_pps,
            duration_s=duration_s,
            scheduled=trial.sent.scheduled or 0,
            offered=trial.sent.offered,
            forwarded=trial.forwarded.packets,
            forwarded_pps=trial.forwarded.pps,
            socket_drops=trial.sunk.socket_drops or 0,
        )

    def measure_latencies(self, pdr: Bounds, parameters: ThroughputParameters) -> None:
        """Round trips beside a load of 10, 50 and 90 % of the PDR."""
        if pdr.forwarded_pps is None or not parameters.latency_s:
            return
        for percent in LOADS:
            found = loaded_latency(
                self._session,
                percent=percent,
                pdr_pps=pdr.forwarded_pps,
                to=self._to,
                size=self._size,
                probe_pps=parameters.latency_rate_pps,
                duration_s=parameters.latency_s,
                quiet_ms=self._quiet_ms,
            )
            self.latencies.append(found)
            self.all_trials.append(found.load)

    def traffic(self) -> InnerTraffic:
        return add_traffic(
            *[trial.traffic for trial in self.all_trials],
            *[
                echo_traffic(one.rtt.sent, one.reflected, one.rtt.received, self._size)
                for one in self.latencies
            ],
        )


def _floor(session: Session, size: int, parameters: ThroughputParameters) -> Floor:
    rate_pps = parameters.latency_rate_pps
    count = max(round(rate_pps * parameters.latency_s), 1)
    return noise_floor(session, size=size, rate_pps=rate_pps, count=count)
