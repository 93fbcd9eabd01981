"""UDP sources and sinks; bytes are UDP payload."""

from __future__ import annotations

from typing import Literal

from culvert.probe.results.base import Result

_FULL = ("ENOBUFS", "UNREPORTED")


class Sent(Result):
    """What a source sent; bytes are UDP payload."""

    packets: int
    bytes: int
    scheduled: int | None = None
    """Packets in the schedule; more than ``offered`` if the generator was too slow."""
    send_errors: dict[str, int] = {}
    """Packets that the kernel refused, by the name of its error."""

    @property
    def offered(self) -> int:
        """Packets offered to the path, including those that a full queue refused: by ENOBUFS, or
        inside a batch, for which the kernel reports no reason."""
        return self.packets + sum(self.send_errors.get(name, 0) for name in _FULL)


class Segmented(Result):
    """How a source of UDP made its packets, and how late."""

    segmentation: Literal["none", "kernel"] = "none"
    """What made the packets: the source, or the kernel from larger messages (UDP_SEGMENT)."""
    segmentation_why: str = ""
    late_p99_ns: int | None = None
    """Lateness of the packets of a paced stream."""


class UdpSource(Sent, Segmented):
    """Result of ``udp_source``."""

    send_buffer_effective: int = 0
    """As getsockopt returned it."""
    seconds: float
    first_ns: int | None = None
    """When the first packet was sent, by the sender's CLOCK_MONOTONIC; None if none was."""


class OneWayDelay(Result):
    """From the sender's call to the kernel's timestamp of the arrival, on one clock."""

    min_ns: int
    p50_ns: int
    p99_ns: int
    max_ns: int
    histogram: str | None = None


class LossRuns(Result):
    """Packets lost in a row."""

    runs: int = 0
    longest: int = 0
    mean: float | None = None


class Reordering(Result):
    """How far packets were reordered, in packets (RFC 4737, 4.2.1)."""

    extent_mean: float | None = None
    extent_max: int | None = None


class DelayVariation(Result):
    """Delay above the minimum (RFC 5481, 4.2: PDV)."""

    p50_ns: int
    p99_ns: int
    p99_9_ns: int
    max_ns: int


class InterPacketVariation(Result):
    """Size of the difference to the packet sent before (RFC 5481, 4.1: IPDV)."""

    p50_abs_ns: int
    p99_abs_ns: int
    max_abs_ns: int


class UdpInterval(Result):
    """Packets that arrived in the interval ending at ``t_ns``.

    ``lost`` is negative when late packets fill earlier holes.
    """

    t_ns: int
    bytes: int
    packets: int = 0
    lost: int = 0
    duplicates: int = 0
    reordered: int = 0
    socket_drops: int | None = None
    jitter_ns: float | None = None
    transit_mean_ns: float | None = None
    transit_max_ns: int | None = None


class Forwarded(Result):
    """Packets and UDP payload that arrived while the stream was offered: until its end, plus the
    path's idle delay and an allowance. ``seconds`` is the time offered, or longer if the path
    needed longer for them: no rate is above that at which they arrived."""

    packets: int = 0
    bytes: int = 0
    seconds: float = 0.0
    begun_ns: int | None = None
    """When the first packet arrives that meets no queue, by the receiver's clock."""
    last_ns: int | None = None
    """When the last of these arrived."""

    @property
    def pps(self) -> float:
        """Packets per second."""
        return self.packets / max(self.seconds, 1e-9)

    @property
    def bps(self) -> float:
        """Bits of payload per second."""
        return 8 * self.bytes / max(self.seconds, 1e-9)


class Sunk(Result):
    """What a sink received; bytes are UDP payload."""

    packets: int
    bytes: int
    first_ns: int | None = None
    last_ns: int | None = None
    duplicates: int = 0
    duplicate_bytes: int = 0
    reordered: int = 0
    corrupt: int = 0
    socket_drops: int | None = None
    """None if the kernel does not report it."""
    forwarded: Forwarded = Forwarded()

    @property
    def backlog(self) -> int:
        """Packets that arrived later than those: out of a queue."""
        return self.unique - self.forwarded.packets

    @property
    def unique(self) -> int:
        """Packets that arrived, duplicates counted once."""
        return self.packets - self.duplicates

    @property
    def unique_bytes(self) -> int:
        """Their payload."""
        return self.bytes - self.duplicate_bytes


class UdpSunk(Sunk):
    """Result of ``udp_sink``."""

    receive_buffer_effective: int = 0
    """As getsockopt returned it."""
    max_sequence: int | None = None
    """The highest number that arrived; the first packet has 0."""
    one_way: OneWayDelay | None = None
    pdv: DelayVariation | None = None
    jitter_ns: float | None = None
    """Jitter by RFC 3550, after the last packet."""
    ipdv: InterPacketVariation | None = None
    loss_runs: LossRuns = LossRuns()
    reordering: Reordering = Reordering()
    frames: list[int | None] = []
    """When each frame of a video had arrived, up to the last of which a packet arrived; None of
    one that is not whole."""
    intervals: list[UdpInterval] = []
