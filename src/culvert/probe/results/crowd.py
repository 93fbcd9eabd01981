"""Results of many clients at once; bytes are UDP payload, or those behind TCP's token."""

from __future__ import annotations

from culvert.probe.results.base import Result
from culvert.probe.results.tcp import BytesInterval
from culvert.probe.results.udp import Forwarded, OneWayDelay, Segmented, Sent, Sunk


class MemberSent(Sent):
    """What one client sent. ``packets`` are of UDP, ``segments`` those of TCP, whose ``bytes`` were
    acknowledged at the end."""

    packets: int = 0
    bytes: int = 0
    bytes_sent: int = 0
    """Of TCP, those that were sent again included."""
    retransmits: int = 0
    segments: int = 0
    segments_back: int = 0
    mss: int = 0


class CrowdSent(Segmented):
    """Result of ``crowd_source``."""

    first_ns: int
    last_ns: int
    seconds: float
    members: list[MemberSent]


class MemberSunk(Sunk):
    """What one client's sink received. ``counted_bytes`` are those of the requested time."""

    packets: int = 0
    bytes: int = 0
    counted_bytes: int = 0


class CrowdSunk(Result):
    """Result of ``crowd_sink``."""

    one_way: OneWayDelay | None = None
    intervals: list[BytesInterval] = []
    forwarded: Forwarded = Forwarded()
    """Of all members as one stream."""
    members: list[MemberSunk]
