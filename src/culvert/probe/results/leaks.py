"""Packets that left a client beside its tunnel, and what became of its applications' messages."""

from __future__ import annotations

from enum import StrEnum

from culvert.probe.results.base import Result


class LeakKind(StrEnum):
    """Kinds of leaked packets; IPv6 is of any protocol, but for look-ups of names."""

    DNS = "dns"
    TCP = "tcp"
    UDP = "udp"
    ICMP = "icmp"
    IPV6 = "ipv6"
    OTHER = "other"


class LeakedPacket(Result):
    """One packet; ``bytes`` of the IP packet, CLOCK_REALTIME."""

    kind: LeakKind
    realtime_ns: int
    bytes: int


class Leaks(Result):
    """Result of ``leaks``."""

    tunnel_packets: int
    leaked: list[LeakedPacket]
    more_leaked: int
    """Packets that are not in the list, which is full."""
    kernel_drops: int


class FlowTally(Result):
    """The messages of one flow of ``applications``; CLOCK_REALTIME."""

    name: str
    attempts: int
    answered: int
    refused: dict[str, int] = {}
    """By the name of the error."""
    longest_pause_ns: int = 0
    """Longest time without an attempt, from the start to the end."""


class FlowTallies(Result):
    """Result of ``applications``."""

    flows: list[FlowTally]
