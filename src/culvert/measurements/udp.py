"""``udp``: what arrives of UDP packets of one size, and where the others were lost.

Loss under a flood is not loss of the network: goodput is what arrived, and beside it stands how
many packets were lost in the receiver's socket, a queue, the tunnel or the link.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from culvert.journal.record import Metric, Series
from culvert.measurements.arrivals import arrival_metrics
from culvert.measurements.base import BaseParameters, Measurement, Outcome
from culvert.measurements.ceiling import ceiling_metrics, udp_ceiling
from culvert.measurements.integrity import intact
from culvert.measurements.losses import locate_losses
from culvert.measurements.max_size import find_max_size
from culvert.measurements.packet import SMALLEST, UDP_HEADERS
from culvert.measurements.session import Session
from culvert.measurements.udp_trial import RECEIVE_BUFFER_BYTES, quiet_ms
from culvert.probe.results import UdpSource, UdpSunk, parse
from culvert.proof.check import Check
from culvert.proof.limits import (
    Offered,
    generator_is_not_the_limit,
    receiver_is_not_the_limit,
)
from culvert.proof.traffic import Flow, InnerTraffic
from culvert.units import DurationS, PerSecond

INTERVAL_MS = 100
SAMPLE_ONE_IN = 64
NOTHING = Flow(0, 0)


class Arrivals(StrEnum):
    """How paced packets are spread: evenly, at random, or several at once."""

    CONSTANT = "constant"
    POISSON = "poisson"
    BURST = "burst"


class UdpParameters(BaseParameters):
    """``packet_size`` is the inner IP packet in bytes, ``max`` the largest that is not fragmented.

    ``rate`` is packets per second of all flows; without it as many as the sender's sockets take.
    ``burst`` packets come at once where ``arrivals`` say so. Each flow has a port of its own.
    """

    packet_size: Annotated[int, Field(ge=SMALLEST, le=65535)] | Literal["max"] = "max"
    duration_s: Annotated[DurationS, Field(gt=0)] = Field(10.0, alias="duration")
    rate_pps: Annotated[PerSecond, Field(gt=0)] | None = Field(None, alias="rate")
    arrivals: Arrivals = Arrivals.CONSTANT
    burst: Annotated[int, Field(ge=1, le=10_000)] = 1
    flows: Annotated[int, Field(ge=1, le=256)] = 1

    @model_validator(mode="after")
    def _spread_needs_a_rate(self) -> Self:
        if self.arrivals is not Arrivals.CONSTANT and self.rate_pps is None:
            raise PydanticCustomError(
                "arrivals",
                "{why}",
                {"why": f"{self.arrivals} arrivals have no rate", "remedy": "add a rate"},
            )
        if self.arrivals is not Arrivals.BURST and self.burst != 1:
            raise PydanticCustomError(
                "arrivals",
                "{why}",
                {"why": f"arrivals are {self.arrivals}", "remedy": 'write arrivals = "burst"'},
            )
        return self


class Udp(Measurement[UdpParameters]):
    """UDP packets of one size from node a to node b."""

    kind: ClassVar[str] = "udp"
    summary: ClassVar[str] = "UDP goodput and packets per second, and where packets were lost"
    headline: ClassVar[str] = "goodput_bps"
    metrics: ClassVar[Mapping[str, str]] = {
        "goodput_bps": "bit/s",
        "offered_bps": "bit/s",
        "offered_pps": "packets/s",
        "received_pps": "packets/s",
        "ceiling_sent_pps": "packets/s",
        "ceiling_received_pps": "packets/s",
        "sent_packets": "packets",
        "offered_packets": "packets",
        "received_packets": "packets",
        "duplicate_packets": "packets",
        "reordered_packets": "packets",
        "send_errors": "packets",
        "lost_in_socket": "packets",
        "lost_in_qdisc": "packets",
        "lost_in_tunnel": "packets",
        "lost_on_link": "packets",
        "lost_unattributed": "packets",
        "longest_loss_run": "packets",
        "loss_ratio": "1",
        "loss_runs": "runs",
        "jitter_us": "us",
        "one_way_p50_us": "us",
        "one_way_p99_us": "us",
        "delay_variation_p50_us": "us",
        "delay_variation_p99_us": "us",
        "packet_size_bytes": "bytes",
    }
    Parameters = UdpParameters

    @classmethod
    def estimate_s(cls, parameters: UdpParameters) -> float:
        """Seconds of one trial."""
        return parameters.duration_s

    def run(self, session: Session, parameters: UdpParameters) -> Outcome:
        """Send for the time asked."""
        size = find_max_size(session) if parameters.packet_size == "max" else parameters.packet_size
        sink = session.b.begin(
            "udp_sink",
            bind=session.inner(session.lab.b),
            receive_buffer=RECEIVE_BUFFER_BYTES,
            interval_ms=INTERVAL_MS,
            duration_max_s=parameters.duration_s + 15,
            flows=parameters.flows,
            quiet_ms=quiet_ms(session, session.inner(session.lab.b)),
            **session.marks,
        )
        port = sink.port()
        with session.watch(sample_one_in=SAMPLE_ONE_IN) as watched:
            sent = parse(
                UdpSource,
                session.a.call(
                    "udp_source",
                    parameters.duration_s + 15,
                    to=session.inner(session.lab.b),
                    port=port,
                    payload_size=size - UDP_HEADERS,
                    rate_pps=parameters.rate_pps,
                    duration_s=parameters.duration_s,
                    arrivals=parameters.arrivals,
                    burst=parameters.burst,
                    flows=parameters.flows,
                    **session.marks,
                ),
            )
            sunk = parse(UdpSunk, sink.stop())  # waits until the last packets have come
        ceiling = udp_ceiling(session, size, sent.segmentation)
        losses = locate_losses(session, watched, sent.offered, sunk)
        return Outcome(
            metrics=[
                *_metrics(size, sent, sunk),
                *arrival_metrics(sunk),
                *losses.metrics(),
                *ceiling_metrics(ceiling),
            ],
            watched=[watched],
            traffic=InnerTraffic(
                a_to_b_sent=Flow(sent.packets, sent.packets * size, size),
                # Duplicates, made on the way, cost the sender nothing.
                a_to_b_received=Flow(sunk.unique, sunk.unique * size, size),
                b_to_a_sent=NOTHING,
                b_to_a_received=NOTHING,
            ),
            goodput_bytes=sunk.unique * (size - UDP_HEADERS),
            series=[_series(sunk)],
            doubts=[
                _conserved(sent, sunk),
                intact(sunk.corrupt),
                generator_is_not_the_limit(
                    session.vpn,
                    Offered(sent.offered, sent.seconds, losses.in_path, sent.scheduled),
                    ceiling,
                ),
                receiver_is_not_the_limit(session.vpn, sunk.packets, losses.socket),
            ],
        )


def _metrics(size: int, sent: UdpSource, sunk: UdpSunk) -> list[Metric]:
    sending_s = max(sent.seconds, 1e-9)
    # Not less than the sending took: a few packets at its begin, or one, would flatter.
    arriving_s = max(((sunk.last_ns or 0) - (sunk.first_ns or 0)) / 1e9, sending_s)
    lost = sent.offered - sunk.unique
    payload_bits = 8 * (size - UDP_HEADERS)
    return [
        Metric("packet_size_bytes", "bytes", size),
        Metric("offered_bps", "bit/s", payload_bits * sent.offered / sending_s),
        Metric("goodput_bps", "bit/s", payload_bits * sunk.unique / arriving_s),
        Metric("offered_pps", "packets/s", sent.offered / sending_s),
        Metric("received_pps", "packets/s", sunk.unique / arriving_s),
        Metric("offered_packets", "packets", sent.offered),
        Metric("received_packets", "packets", sunk.unique),
        Metric("loss_ratio", "1", lost / max(sent.offered, 1)),
        Metric("duplicate_packets", "packets", sunk.duplicates),
        Metric("reordered_packets", "packets", sunk.reordered),
    ]


def _series(sunk: UdpSunk) -> Series:
    return Series(
        "received_bytes",
        "bytes",
        [interval.t_ns for interval in sunk.intervals],
        [interval.bytes for interval in sunk.intervals],
    )


def _conserved(sent: UdpSource, sunk: UdpSunk) -> Check:
    unique = sunk.unique
    return Check(
        "packets are conserved",
        0 < unique <= sent.packets,
        f"{unique} packets arrived of {sent.packets} sent",
        "none arrived, or more than were sent: the tunnel or the probe is broken",
    )
