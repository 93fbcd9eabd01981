"""Packets: sizes are those of the inner IP packet in bytes; a payload must stay intact."""

from __future__ import annotations

from collections.abc import Iterable

from culvert.probe.results.tcp import BytesInterval
from culvert.results import Series
from culvert.trial.check import Check

UDP_HEADERS = 28
"""IPv4 header (20) and UDP header (8)."""
ICMP_HEADERS = 28
"""IPv4 header (20) and ICMP echo header (8)."""
TCP_HEADERS = 52
"""IPv4 header (20), TCP header (20) and the timestamp option with its padding (12)."""
SACK_BLOCKS = 28
"""Bytes of three SACK blocks (RFC 2018): as many as fit with the timestamps."""
SMALLEST = 64
"""The smallest packet that a test may request: it leaves 36 bytes for the probe's header."""
PROBE_HEADER = 28
"""In front of the canary, in UDP and ICMP."""


def marked_run(size: int) -> int:
    """Bytes of the canary in a packet of that size."""
    return size - UDP_HEADERS - PROBE_HEADER


def intact(corrupt: int) -> Check:
    """Payloads are checked where they arrive: ``corrupt`` differed from what was sent."""
    return Check(
        "payload is intact",
        corrupt == 0,
        f"{corrupt} payloads differed from what was sent",
        "the tunnel changes data: report it to the VPN's developers",
    )


def received(intervals: Iterable[BytesInterval], **labels: str) -> Series:
    """Bytes that arrived, over time."""
    points = ((interval.t_ns, interval.bytes) for interval in intervals)
    return Series.of("received_bytes", "bytes", points, **labels)
