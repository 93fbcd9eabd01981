"""iperf 2: its command lines, and what its server reports as comma-separated values (``-y C``)."""

from __future__ import annotations

from collections.abc import Iterator

from culvert.measurements.instruments.base import Instrument, Load, ToolReport, bad_report, count

PORT = 5001
_SUM = "-1"
_TCP_FIELDS = 9
_UDP_FIELDS = 13
_FASTEST = "100g"
"""A rate that no sender reaches."""


def server(load: Load) -> list[str]:
    """Arguments of the receiving end."""
    return ["-s", "-B", load.to, "-p", str(PORT), "-y", "C", *load.window] + (
        ["-u"] if load.udp else []
    )


def client(load: Load) -> list[str]:
    """Arguments of the sending end."""
    words = ["-c", load.to, "-p", str(PORT), "-t", str(load.duration_s), "-l", str(load.size)]
    words += ["-P", str(load.streams), "-y", "C", *load.window]
    if load.udp:
        # The rate is per stream.
        each = load.rate_bps and f"{max(round(load.rate_bps / load.streams), 1)}"
        return [*words, "-u", "-b", each or _FASTEST]
    return [*words, "-Z", load.congestion_control, *(["-N"] if load.nodelay else [])]


def finished(load: Load, printed: str) -> bool:
    """Whether the server has reported each stream to its end."""
    return len(list(_rows(printed, load))) >= load.streams


def parse(load: Load, printed: str) -> ToolReport:
    """From the server's report; raises InstrumentError if it is incomplete or malformed."""
    rows = list(_rows(printed, load))
    if len(rows) < load.streams:
        raise bad_report(Instrument.IPERF2, f"it reported {len(rows)} of {load.streams} streams")
    try:
        received = sum(count(row[7]) for row in rows)
        goodput_bps = sum(count(row[8]) for row in rows)
        if not load.udp:
            return ToolReport(goodput_bps, received)
        lost = sum(int(count(row[10])) for row in rows)
        sent = sum(int(count(row[11])) for row in rows)
    except (ValueError, OverflowError) as error:
        raise bad_report(Instrument.IPERF2, f"it reported an invalid number: {error}") from error
    if lost > sent:
        raise bad_report(Instrument.IPERF2, f"it lost {lost} of {sent} packets")
    return ToolReport(goodput_bps, received, sent_packets=sent, lost_packets=lost)


def _rows(printed: str, load: Load) -> Iterator[list[str]]:
    """The last line of each stream, without those of all streams together."""
    wanted = _UDP_FIELDS if load.udp else _TCP_FIELDS
    last: dict[str, list[str]] = {}
    for line in printed.splitlines():
        fields = line.strip().split(",")
        if len(fields) >= wanted and fields[5] != _SUM:
            last[",".join(fields[1:6])] = fields
    yield from last.values()
