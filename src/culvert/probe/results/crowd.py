"""Results of many clients at once; bytes are UDP payload, or those behind TCP's token."""

from __future__ import annotations

from typing import Literal

from culvert.probe.results.base import Result
from culvert.probe.results.tcp import BytesInterval
from culvert.probe.results.udp import OneWayDelay, Sunk


class MemberSent(Result):
    """What one client sent. ``offered`` are packets of UDP, ``segments`` those of TCP, whose
    ``bytes`` were acknowledged at the end."""

    offered: int = 0
    packets: int = 0
    bytes: int = 0
    bytes_sent: int = 0
    """Of TCP, those that were sent again included."""
    send_errors: dict[str, int] = {}
    scheduled: int | None = None
    retransmits: int = 0
    segments: int = 0
    segments_back: int = 0
    mss: int = 0


class CrowdSent(Result):
    """Result of ``crowd_source``."""

    first_ns: int
    last_ns: int
    seconds: float
    late_p99_ns: int | None = None
    segmentation: Literal["none", "kernel"] = "none"
    segmentation_why: str = ""
    members: list[MemberSent]


class MemberSunk(Sunk):
    """What one client's sink received. ``counted_bytes`` are those of the requested time."""

    packets: int = 0
    bytes: int = 0
    counted_bytes: int = 0


class CrowdSunk(Result):
    """Result of ``crowd_sink``."""

    strangers: int = 0
    one_way: OneWayDelay | None = None
    intervals: list[BytesInterval] = []
    members: list[MemberSunk]
