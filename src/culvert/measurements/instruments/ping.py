"""ping: its command line; its output is read by the same reader as an import."""

from __future__ import annotations

from culvert.journal.readers import ping as reader
from culvert.journal.readers.reading import Text
from culvert.measurements.instruments.base import Instrument, ToolReport, bad_report
from culvert.results import Status

ICMP_HEADERS = 28
PATTERN_BYTES = 16
"""What it fills packets with, at most; it repeats."""


def command(
    to: str, *, probes: int, rate_pps: float, packet_size: int, timeout_ms: int, pattern: bytes
) -> list[str]:
    """Arguments. ``packet_size`` is that of the IP packet in bytes."""
    return [
        *("-n", "-i", f"{1 / rate_pps:.6f}", "-c", str(probes)),
        *("-s", str(packet_size - ICMP_HEADERS), "-W", f"{timeout_ms / 1000:.3f}"),
        *("-p", pattern[:PATTERN_BYTES].hex(), to),
    ]


def parse(printed: str) -> ToolReport:
    """From what it printed; raises InstrumentError."""
    runs = reader.found_in(Text(Instrument.PING, printed)).runs
    if not runs:
        raise bad_report(Instrument.PING, "it printed no result")
    run = runs[-1]
    if run.status is not Status.OK:
        raise bad_report(Instrument.PING, run.reason)
    found = {metric.name: metric.value for metric in run.metrics}
    sent = int(found.get("probes_sent", 0))
    return ToolReport(
        0.0,
        0.0,
        sent_packets=sent,
        lost_packets=int(found.get("probes_lost", 0)),
        metrics=tuple(run.metrics),
        histograms=tuple(run.histograms),
    )
