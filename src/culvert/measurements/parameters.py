"""Parameters that several measurements have: their bounds, and how they are written for people."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from culvert.measurements.streams.packet import SMALLEST
from culvert.results import Label
from culvert.units import DurationNs, DurationS, SizeBytes

SIZES = Label("{} byte packets", {"max": "largest packets", "imix": "packets of an IMIX"})
RATE = Label("rate {}", {None: "unlimited rate", "max": "unlimited rate"})
PROTOCOL = Label("over {}", {"udp": "over UDP", "icmp": "over ICMP", "tcp": "over TCP"})
SAMPLING = Label("{} times")
DIRECTION = {"up": "a to b", "down": "b to a", "both": "both ways at once"}
LOADED = {way: f"load {words}" for way, words in DIRECTION.items()}
INSTRUMENT = Label("by {}", {"probe": "by the probe"})


class Sampling(StrEnum):
    """Schedules of echo requests, all of one mean rate. Each starts at a random phase."""

    SCATTERED = "scattered"
    """One in each period, at a place that moves by the golden ratio: gaps of 0.618 and 1.618
    periods, so that no phase of the kernel's tick, or of anything periodic, is preferred."""
    PERIODIC = "periodic"
    """Even gaps (RFC 3432)."""
    POISSON = "poisson"
    """Exponential gaps (RFC 2330, 11.1.1)."""


PacketSize = Annotated[int, Field(ge=SMALLEST, le=65535), SIZES]
"""Bytes of the inner IP packet."""
Duration = Annotated[DurationS, Field(gt=0, alias="duration"), Label("for {}", unit="s")]
"""The measured time, of ``duration_s``."""
Streams = Annotated[int, Field(ge=1, le=128), Label("{} streams", {1: "one stream"})]
Congestion = Annotated[str, Field(pattern=r"^[a-z0-9_]{1,15}$"), Label("congestion control {}")]
"""By the kernel's name."""
SocketBuffer = Annotated[
    SizeBytes,
    Field(ge=4096, le=1 << 29),
    Label("socket buffers of {} bytes", {None: ""}),
]
"""Bytes that setsockopt is given (iperf3's ``-w``); the kernel counts twice as many."""
Spin = Annotated[DurationNs, Field(le=1_000_000_000), Label("spin {}")]
