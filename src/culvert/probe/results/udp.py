"""UDP sources and sinks; bytes are UDP payload."""

from __future__ import annotations

from typing import Literal

from culvert.probe.results.base import Result
from culvert.probe.results.tcp import BytesInterval


class UdpSource(Result):
    """Result of ``udp_source``; bytes are UDP payload."""

    packets: int
    bytes: int
    seconds: float
    scheduled: int | None = None
    """Packets that the schedule held; more than ``offered`` if the generator was too slow."""
    send_errors: dict[str, int] = {}
    """Packets that the kernel did not take, by the name of its error."""
    segmentation: Literal["none", "kernel"] = "none"
    """Who made the packets: the source, or the kernel out of larger messages (UDP_SEGMENT)."""

    @property
    def offered(self) -> int:
        """Packets offered to the path: those that a full queue refused (ENOBUFS) among them."""
        return self.packets + self.send_errors.get("ENOBUFS", 0)


class OneWayDelay(Result):
    """From the sender's call to the kernel's timestamp of the arrival, on one clock."""

    min_ns: int
    p50_ns: int
    p99_ns: int
    max_ns: int


class LossRuns(Result):
    """Packets lost in a row."""

    runs: int = 0
    longest: int = 0


class DelayVariation(Result):
    """Delay above the least one (RFC 5481, PDV)."""

    p50_ns: int
    p99_ns: int


class UdpSunk(Result):
    """Result of ``udp_sink``; bytes are UDP payload."""

    packets: int
    bytes: int
    first_ns: int | None = None
    last_ns: int | None = None
    duplicates: int = 0
    reordered: int = 0
    corrupt: int = 0
    strangers: int = 0
    socket_drops: int | None = None
    """None where the kernel does not tell."""
    one_way: OneWayDelay | None = None
    pdv: DelayVariation | None = None
    jitter_ns: float | None = None
    """RFC 3550, as after the last packet."""
    loss_runs: LossRuns = LossRuns()
    intervals: list[BytesInterval] = []

    @property
    def unique(self) -> int:
        """Packets that arrived, duplicates counted once."""
        return self.packets - self.duplicates
