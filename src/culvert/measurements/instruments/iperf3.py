"""iperf3: its command lines; its JSON is read by the same reader as an import."""

from __future__ import annotations

from culvert.journal.readers import iperf3 as reader
from culvert.journal.readers.reading import Text
from culvert.measurements.instruments.base import Instrument, Load, ToolReport, bad_report
from culvert.results import Status

PORT = 5201


def server(load: Load) -> list[str]:
    """Arguments of the receiving end."""
    return ["-s", "-1", "-B", load.to, "-p", str(PORT)]


def client(load: Load) -> list[str]:
    """Arguments of the sending end."""
    words = ["-c", load.to, "-p", str(PORT), "-t", str(load.duration_s), "-l", str(load.size)]
    words += ["-P", str(load.streams), "-J", *load.window]
    if load.udp:
        # The rate is per stream; 0 means no limit.
        return [*words, "-u", "-b", str(round((load.rate_bps or 0) / load.streams))]
    return [*words, "-C", load.congestion_control, *(["-N"] if load.nodelay else [])]


def parse(load: Load, printed: str) -> ToolReport:
    """From what the client printed; raises InstrumentError."""
    runs = reader.found_in(Text(Instrument.IPERF3, printed)).runs
    if not runs:
        raise bad_report(Instrument.IPERF3, "it printed no result")
    run = runs[-1]
    if run.status is not Status.OK:
        raise bad_report(Instrument.IPERF3, run.reason)
    found = {metric.name: metric.value for metric in run.metrics}
    goodput_bps = found["goodput_bps"]
    received = goodput_bps * run.duration_s / 8
    if not load.udp:
        used = str(run.parameters.get("congestion_control", ""))
        retransmits = found.get("retransmitted_segments")
        return ToolReport(
            goodput_bps,
            received,
            None if retransmits is None else int(retransmits),
            congestion_control=used,
        )
    sent = int(found.get("offered_packets", 0))
    lost = round(found.get("loss_ratio", 0.0) * sent)
    return ToolReport(goodput_bps, received, sent_packets=sent, lost_packets=lost)
