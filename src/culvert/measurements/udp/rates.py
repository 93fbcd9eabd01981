"""What a search for throughput yields: rates (NDR, PDR), and round trips beside a load of some
per cent of the PDR."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from culvert.measurements.parameters import Sampling
from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.measurements.streams.udp_stream import SLACK_S, UdpRun, UdpStream, UdpTrial
from culvert.measurements.udp.search import Bounds
from culvert.metrics import Better, HeadlineColumn, MetricSpec, Weight, family
from culvert.probe.results import RttResult
from culvert.proof.known import KnownPath
from culvert.proof.truth import Truth
from culvert.results import Histogram, Metric, measured
from culvert.trial.echo import Echo
from culvert.trial.session import Session

_PDR = HeadlineColumn(
    "UDP rate with little loss (PDR)",
    place=15,
    superlative="Highest UDP rate with little loss (PDR)",
    sentence="forwards {} of UDP with little loss (PDR)",
    smallest="packet_size",
)
LOADS = (10, 50, 90)
"""Percentages of the PDR at which latency is measured."""
TIMEOUT_MS = 1000
LEAD_S = 0.1
"""The load runs for this time before the first echo request and after the last."""


def _declared(
    short: str, title: str, weight: Weight, column: HeadlineColumn | None = None
) -> tuple[MetricSpec, ...]:
    return (
        MetricSpec(
            f"{short}_pps", "packets/s", title, Better.MORE, weight, drawn=True, column=column
        ),
        MetricSpec(
            f"{short}_offered_pps", "packets/s", f"{title}, offered", Better.MORE, offered=True
        ),
        MetricSpec(
            f"{short}_upper_pps", "packets/s", f"{title}, upper bound", Better.MORE, offered=True
        ),
        MetricSpec(f"{short}_bps", "bit/s", f"{title}, in bits", Better.MORE),
        MetricSpec(f"{short}_width_ratio", "1", f"{title}, relative width of the bounds"),
    )


RATE_METRICS = (
    *_declared("pdr", "Rate with little loss (PDR)", Weight.MAIN, _PDR),
    *_declared("ndr", "Rate without loss (NDR)", Weight.KEY),
)


def rate_metrics(name: str, bounds: Bounds, size: int) -> list[Metric]:
    """``bps`` are bits of UDP payload, as goodput; 0 if even the lowest rate lost too much."""
    carried_pps = bounds.forwarded_pps or 0.0
    values = {
        f"{name}_pps": carried_pps,
        f"{name}_bps": carried_pps * 8 * (size - UDP_HEADERS),
        f"{name}_offered_pps": bounds.lower_pps,
        f"{name}_upper_pps": bounds.upper_pps,
        f"{name}_width_ratio": bounds.width,
    }
    return measured(RATE_METRICS, values)


def carried(
    known: KnownPath, sizes: Sequence[int], seconds: float, *, most_pps: float = math.inf
) -> list[Truth]:
    """NDR and PDR of packets of these sizes, in trials of so many seconds, at ``most_pps`` or
    less."""
    filling = most_pps >= (known.packets_per_s(sizes) or math.inf)
    found = known.packets(["ndr_pps", "pdr_pps"], sizes, seconds, filling=filling)
    bits = ["ndr_bps", "pdr_bps"]
    if not filling:
        return found + known.payload(bits, sizes, UDP_HEADERS, seconds, True)
    return found + [
        truth for each in bits for truth in known.goodput(each, sizes, UDP_HEADERS, seconds, True)
    ]


def _at_load(load: int) -> tuple[MetricSpec, ...]:
    """Metrics of the round trips at a percentage of the PDR."""
    at = f"at {load}\u00a0% of the PDR"
    return (
        MetricSpec(
            f"rtt_p50_at_pdr_{load}_us",
            "us",
            f"Round trip {at}, median",
            Better.LESS,
            drawn=True,
            ways=2,
        ),
        *family(
            f"rtt_{{}}_at_pdr_{load}_us",
            "us",
            f"Round trip {at}",
            ("p90", "p99"),
            Better.LESS,
            ways=2,
        ),
        MetricSpec(f"probe_loss_at_pdr_{load}_ratio", "1", f"Share lost {at}", Better.LESS),
    )


LATENCY_METRICS = tuple(spec for load in LOADS for spec in _at_load(load))


@dataclass(frozen=True)
class LoadedLatency:
    """Round trips beside a load of ``percent`` of the PDR, that load, and the number of requests
    that the far end reflected."""

    percent: int
    rtt: RttResult
    load: UdpTrial
    reflected: int

    def metrics(self) -> list[Metric]:
        """Percentiles where there are any, and the share lost."""
        rtt, at = self.rtt, f"at_pdr_{self.percent}"
        values = {f"rtt_{name}_{at}_us": rtt.us(name) for name in ("p50", "p90", "p99")}
        return measured(
            LATENCY_METRICS, {f"probe_loss_{at}_ratio": rtt.lost / max(rtt.sent, 1)} | values
        )

    def histograms(self) -> list[Histogram]:
        """All round trips; empty if none came back."""
        return Histogram.all(**{f"rtt_at_pdr_{self.percent}_ns": self.rtt})


def loaded_latency(
    session: Session,
    *,
    percent: int,
    pdr_pps: float,
    to: str,
    size: int,
    probe_pps: float,
    duration_s: float,
    quiet_ms: int,
) -> LoadedLatency:
    """Echo requests while UDP packets of the same size go from a to b. The requests, at most
    ``probe_pps``, are part of the load."""
    lasting_s = duration_s + 2 * LEAD_S
    load_pps = pdr_pps * percent / 100
    probe_pps = min(probe_pps, load_pps / 2)
    stream = UdpStream(to, (size,), lasting_s, rate_pps=load_pps - probe_pps)
    run = UdpRun(session, stream, quiet_ms)
    echo = Echo(session, lasting_s + SLACK_S, to)
    run.start()
    rtt = echo.rtt(
        rate_pps=probe_pps,
        count=max(round(probe_pps * duration_s), 10),
        payload_size=size - UDP_HEADERS,
        timeout_ms=session.patience_ms(TIMEOUT_MS),
        sampling=Sampling.SCATTERED,
    )
    return LoadedLatency(percent, rtt, run.finish(), echo.close().packets)
