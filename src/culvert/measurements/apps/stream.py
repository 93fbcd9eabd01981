"""``stream``: a video of constant bit rate with a deadline: which frames are late or lost.

A frame is lost if one of its packets never comes, late if its last packet comes after the play-out
deadline. Nothing is repaired or sent again, as in a call or a game.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from culvert.measurements.apps.video import LEAST_BYTES, MOST_PACKETS, Played, Video, played
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.parameters import Duration, PacketSize
from culvert.measurements.streams.packet import UDP_HEADERS, intact, marked_run
from culvert.measurements.streams.udp_stream import Frames, UdpRun, UdpStream, UdpTrial, quiet_ms
from culvert.measurements.udp.arrivals import (
    ARRIVAL_METRICS,
    arrival_histograms,
    arrival_metrics,
    arrival_series,
)
from culvert.measurements.udp.losses import LOSS_METRICS, locate_losses
from culvert.metrics import Better, Effect, HeadlineColumn, MetricSpec, Weight, family
from culvert.probe.results.base import SHARES
from culvert.proof.known import KnownPath
from culvert.proof.limits import (
    GENERATOR,
    Offered,
    generator_is_not_the_limit,
    receiver_is_not_the_limit,
)
from culvert.proof.truth import Truth
from culvert.results import Label, Metric, Series, measured
from culvert.study.table import problem
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.units import DurationNs, Fraction, RateBps

SAMPLED_PPS = 1000
"""Packets per second that the captures take, about as many as those of ``rtt``."""
IN_TIME = 0.25
"""Share of the deadline by which the sender itself may be late: else it measures itself."""
DELAYS = ("p50", "p90", "p99", "max")
LESS = Better.LESS


class StreamParameters(BaseParameters):
    """Parameters of a video."""

    rate_bps: Annotated[RateBps, Field(ge=100_000, le=1_000_000_000), Label("{}")] = Field(
        8_000_000, alias="rate"
    )
    """Bits of UDP payload per second."""
    frames_per_s: Annotated[int, Field(ge=1, le=240), Label("{} frames/s")] = 60
    """Frames per second."""
    key_every: Annotated[int, Field(ge=1, le=600), Label("a key frame each {}", {120: ""})] = 120
    """Frames from one key frame to the next."""
    key_factor: Annotated[
        float, Field(ge=1, le=50), Label("key frames {} times as large", {5: ""})
    ] = 5
    """Size of a key frame, in mean sizes of the others."""
    variation: Annotated[Fraction, Field(le=1), Label("sizes vary by {}", {"25%": ""})] = 0.25
    """Coefficient of variation of the other frames' sizes (lognormal)."""
    deadline_ns: Annotated[DurationNs, Field(gt=0), Label("deadline {}")] = Field(
        100_000_000, alias="deadline"
    )
    """From a frame's time to its play-out."""
    pacing: Annotated[Fraction, Label("packets over {} of a frame's time", {"50%": ""})] = 0.5
    """Share of a frame's time over which its packets are sent; 0% sends them at once."""
    packet_size: Annotated[PacketSize, Label("{} byte packets", {1228: ""})] = 1228
    """Largest inner IP packet in bytes; 1228 has the 1200 bytes of payload that WebRTC sends."""
    duration_s: Duration = 10.0
    """Duration of the video."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.duration_s * self.frames_per_s < 1:
            raise problem("it ends before its first frame", "request a longer duration")
        if min(self.video.frames_bytes) <= LEAST_BYTES:
            why = f"its smallest frame has less than {LEAST_BYTES} bytes"
            raise problem(why, "request a higher rate, or fewer frames_per_s")
        if sum(self.video.frames_packets) > MOST_PACKETS:
            why = f"its frames from one key frame to the next have more than {MOST_PACKETS} packets"
            raise problem(why, "request a lower rate or key_every")
        return self

    @property
    def video(self) -> Video:
        return Video(
            rate_bps=self.rate_bps,
            frames_per_s=self.frames_per_s,
            group_frames=self.key_every,
            key_factor=self.key_factor,
            variation=self.variation,
            payload_bytes=self.packet_size - UDP_HEADERS,
        )


class Stream(Measurement[StreamParameters]):
    """A video from node a to node b."""

    kind: ClassVar[str] = "stream"
    title: ClassVar[str] = "Video stream"
    summary: ClassVar[str] = "frames of a video that are late or lost, their delay, and freezes"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec(
            "missed_ratio",
            "1",
            "Share of frames late or lost",
            LESS,
            Weight.MAIN,
            column=HeadlineColumn(
                "Video frames late or lost",
                key="stream",
                place=49,
                effect=Effect.DIFFERENCE,
                superlative="Fewest frames late or lost",
            ),
        ),
        MetricSpec("late_ratio", "1", "Share of frames late", LESS),
        MetricSpec("lost_ratio", "1", "Share of frames lost", LESS),
        MetricSpec("longest_freeze_ms", "ms", "Longest freeze", LESS, Weight.KEY),
        MetricSpec("frames", "frames", "Frames"),
        *(
            replace(one, weight=Weight.KEY, drawn=True) if "p99" in one.name else one
            for one in family("frame_delay_{}_us", "us", "Delay of a frame", DELAYS, LESS, ways=1)
        ),
        MetricSpec("stream_bps", "bit/s", "Bit rate of the video", offered=True),
        MetricSpec("loss_ratio", "1", "Share of packets lost", LESS),
        MetricSpec("schedule_error_p99_us", "us", "Lateness of the sender, 99\u00a0%"),
        *ARRIVAL_METRICS,
        *LOSS_METRICS,
    )
    Parameters = StreamParameters

    @classmethod
    def estimate_s(cls, parameters: StreamParameters) -> float:
        return parameters.duration_s

    @classmethod
    def truths(cls, known: KnownPath, parameters: StreamParameters) -> Sequence[Truth]:
        size = parameters.packet_size
        packets = parameters.duration_s * parameters.rate_bps / (8 * (size - UDP_HEADERS))
        words = "the delay and at most a transmission"
        sending_ns = known.one_way_ns(size) - known.one_way_ns()
        return [
            *known.loss("loss_ratio", packets),
            *known.times(["one_way_min_us"], "us", known.one_way_ns(), words, longer_ns=sending_ns),
        ]

    def run(self, session: Session, parameters: StreamParameters) -> Outcome:
        video = parameters.video
        stream = _stream(session, parameters, video)
        run = UdpRun(session, stream, quiet_ms(session, stream.to))
        sample_one_in = max(round(video.packets_per_s / SAMPLED_PPS), 1)
        run_bytes = marked_run(min(stream.sizes))
        with session.watch(sample_one_in=sample_one_in, marked_run=run_bytes) as watched:
            trial = run.start().finish()
        sent, sunk = trial.sent, trial.sunk
        shown = _played(session, parameters, video, trial)
        losses = locate_losses(session, watched, sent.offered, sunk)
        offered = Offered(sent.offered, sent.seconds, losses.in_path, sent.scheduled)
        return Outcome(
            metrics=[
                *_metrics(parameters, trial, shown),
                *arrival_metrics(sunk),
                *losses.metrics(),
            ],
            watched=[watched],
            traffic=trial.traffic,
            goodput_bytes=sunk.unique_bytes,
            series=[_delays(parameters, trial, shown), *arrival_series(sunk)],
            histograms=arrival_histograms(sunk),
            doubts=[
                _complete(shown),
                intact(sunk.corrupt),
                generator_is_not_the_limit(session.vpn, offered, None),
                _punctual(trial, parameters.deadline_ns),
                receiver_is_not_the_limit(session.vpn, sunk.packets, losses.socket),
            ],
        )


def _stream(session: Session, parameters: StreamParameters, video: Video) -> UdpStream:
    sizes = [UDP_HEADERS + payload for frame in video.packets for payload in frame]
    return UdpStream(
        to=session.inner(session.target),
        sizes=tuple(sizes),
        duration_s=parameters.duration_s,
        segmentation="none",
        interval_ms=100,
        frames=Frames(video.frames_packets, video.frames_per_s, parameters.pacing),
    )


def _played(
    session: Session, parameters: StreamParameters, video: Video, trial: UdpTrial
) -> Played:
    used = trial.sent.packets + sum(trial.sent.send_errors.values())
    return played(
        trial.sunk.frames,
        frames=video.frames_in(used),
        frames_per_s=video.frames_per_s,
        first_ns=trial.sent.first_ns or 0,
        deadline_ns=parameters.deadline_ns,
        one_clock=session.lab.shared_kernel,
    )


def _metrics(parameters: StreamParameters, trial: UdpTrial, shown: Played) -> list[Metric]:
    sent, frames = trial.sent, max(shown.frames, 1)
    shares = {name: SHARES.get(name, 1.0) for name in DELAYS}
    delays = {f"frame_delay_{name}_us": shown.delay_ns(share) for name, share in shares.items()}
    values = {
        "missed_ratio": (shown.late + shown.lost) / frames,
        "late_ratio": shown.late / frames,
        "lost_ratio": shown.lost / frames,
        "longest_freeze_ms": 1000 * shown.longest_freeze / parameters.frames_per_s,
        "frames": shown.frames,
        **{name: None if ns is None else ns / 1e3 for name, ns in delays.items()},
        "stream_bps": 8 * sent.bytes / parameters.duration_s,
        "loss_ratio": (sent.offered - trial.unique) / max(sent.offered, 1),
        "schedule_error_p99_us": None if sent.late_p99_ns is None else sent.late_p99_ns / 1e3,
    }
    return measured(Stream.metrics, values)


def _delays(parameters: StreamParameters, trial: UdpTrial, shown: Played) -> Series:
    """Of each whole frame, at its time."""
    first_ns = trial.sent.first_ns or 0
    points = [
        (first_ns + round(number * 1e9 / parameters.frames_per_s), delay / 1e3)
        for number, delay in enumerate(shown.delays_ns)
        if delay is not None
    ]
    return Series.of("frame_delay_us", "us", points)


def _complete(shown: Played) -> Check:
    return Check(
        "frames arrived",
        shown.lost < shown.frames,
        f"{shown.frames - shown.lost} of {shown.frames} frames arrived with all their packets",
        "no frame was whole: check the loss of the link and of the tunnel, or try smaller frames",
    )


def _punctual(trial: UdpTrial, deadline_ns: int) -> Check:
    late_ns = trial.sent.late_p99_ns or 0
    return Check(
        f"{GENERATOR}: packets leave in time",
        late_ns <= IN_TIME * deadline_ns,
        f"99 % of the packets left at most {late_ns / 1e6:.2f} ms late",
        "the sender was late, not the tunnel: stop other programs on this machine",
        {"late_p99_ns": late_ns},
    )
