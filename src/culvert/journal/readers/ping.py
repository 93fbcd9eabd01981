"""Output of ``ping``: iputils (with -D, -O, -q), inetutils, busybox, BSD and macOS.

A run starts at its line "PING ..."; a file may have several. Between the replies these programs
print much that is no result (errors of ICMP and the header that they quote, what SIGQUIT prints,
warnings, in the user's language): it is left out. Lost is what had a figure: a reply or statistics
that cannot be read, or fewer replies than the statistics count. Duplicates are counted, but are not
round trips. Without the statistics at the end the number of sent probes is unknown: the round trips
are kept, the loss is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from culvert.journal.histogram import encoded
from culvert.journal.readers.figures import MOST_S, doubt, figure_in, moment_of, percentiles
from culvert.journal.readers.foreign_run import ForeignRun, Found, judged
from culvert.journal.readers.reading import Text, read_text
from culvert.results import Histogram, Metric

MAX_LOSS = 0.5
"""As in the measurement rtt: percentiles of few answered probes would be too low."""
MOST_COUNT = 1e12
MOST_CHARACTERS = 1000
"""Characters of a line: no host name is longer."""
_HEADERS = {4: 28, 6: 48}
"""Bytes of IP and ICMP."""

_N = r"-?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?"
_BEGIN = re.compile(
    r"PING\s+\S.*?(\d{1,6})(?:\(\d+\))?\s*(?:data )?bytes|PING6?\(\d+=40\+8\+(\d{1,6}) bytes\)",
    re.ASCII,
)
_REPLY = re.compile(
    r"(?:\[(\d+\.\d+)\] |[\d:.]+ )?\d+ bytes from .*?(?:icmp_)?seq=(\d+).*?time[=<](\S+) ?ms(.*)",
    re.ASCII,
)
_SUMMARY = re.compile(r"(\d+) packets transmitted, (\d+) (?:packets )?received(.*)", re.ASCII)
_DUPLICATES = re.compile(r"\+?(\d+) duplicates", re.ASCII)
_EXTREMES = re.compile(
    rf"(?:rtt|round-trip) min/avg/max\S* = ({_N})/({_N})/({_N})(?:/{_N})? ms", re.ASCII
)
_UNTIMED = re.compile(r"(?:\[\d+\.\d+\] )?\d+ bytes from .*seq=\d+( ttl=\d+)?", re.ASCII)
_TIMED_BYTES = 16
"""Replies with less payload have no time."""
_FIGURE = re.compile(r"bytes from .*seq=|time[=<]|packets transmitted|(rtt|round-trip) min/avg/max")
_BEFORE = re.compile(r"ping6?: |PATTERN: |WARNING: |$")
"""Printed before the line PING."""


@dataclass
class _Run:
    line: int
    payload_bytes: int
    version: int
    times_ms: list[float] = field(default_factory=list)
    at_s: list[float] = field(default_factory=list)
    untimed: int = 0
    duplicates: int = 0
    summary: tuple[float, float] | None = None
    extremes_ms: tuple[float, ...] = ()
    doubts: list[str] = field(default_factory=list)


def read(path: Path) -> Found:
    """All runs of a file. Raises UsageError if the file cannot be read at all."""
    return found_in(read_text(path))


def found_in(text: Text) -> Found:
    """The runs in a text of ping."""
    runs = list(_runs(text))
    for run in runs:
        replies = len(run.times_ms) + run.untimed + len(run.doubts)
        if run.summary is None:
            text.lose(run.line, "its statistics are missing: it is truncated")
        elif replies and replies < run.summary[1]:
            text.lose(run.line, f"it has {replies} of {run.summary[1]:.0f} replies")
    return Found([_foreign(text.file, run) for run in runs], text.lost)


def _runs(text: Text) -> Iterator[_Run]:
    run: _Run | None = None
    for number, line in enumerate(map(str.strip, text.lines()), start=1):
        if len(line) > MOST_CHARACTERS:
            text.lose(number, f"a line of more than {MOST_CHARACTERS} characters")
            continue
        if begin := _BEGIN.match(line):
            if run is not None:
                yield run
            six = begin[2] is not None or line.split(" bytes")[0].count(":") > 1
            run = _Run(number, int(begin[1] or begin[2]), 6 if six else 4)
        elif run is None:
            if not _BEFORE.match(line):
                text.lose(number, "a line before any PING")
        elif run.payload_bytes < _TIMED_BYTES and _UNTIMED.fullmatch(line):
            run.untimed += 1
        elif not _take(run, number, line) and _FIGURE.search(line):
            text.lose(number, "a reply or statistics that cannot be read")
    if run is not None:
        yield run


def _take(run: _Run, number: int, line: str) -> bool:
    """Add the line's content to the run; False if the line is unknown."""
    if reply := _REPLY.fullmatch(line):
        milliseconds = figure_in(reply[3].replace(",", "."))
        if milliseconds is None:
            return False
        if "DUP!" in reply[4]:
            run.duplicates += 1
        elif why := doubt(f"seq {reply[2][:12]}", milliseconds, 0, 1e3 * MOST_S, "ms"):
            run.doubts.append(f"line {number}: {why}")
        else:
            run.times_ms.append(milliseconds)
            if reply[1] and (at := figure_in(reply[1])) is not None:
                run.at_s.append(at)
        return True
    if summary := _SUMMARY.match(line):
        sent, received = (figure_in(summary[group]) for group in (1, 2))
        if sent is None or received is None or max(sent, received) > MOST_COUNT:
            return False
        run.summary = sent, received
        if found := _DUPLICATES.search(summary[3]):
            run.duplicates = int(min(figure_in(found[1]) or 0, MOST_COUNT))
        return True
    if extremes := _EXTREMES.match(line):
        values = [figure_in(extremes[group].replace(",", ".")) for group in (1, 2, 3)]
        known = tuple(value for value in values if value is not None)
        run.extremes_ms = known if len(known) == len(values) else ()
        return bool(run.extremes_ms)
    return False


def _foreign(file: str, run: _Run) -> ForeignRun:
    failures: list[str] = []
    doubts = run.doubts[:5]
    metrics: list[Metric] = []
    if run.summary is not None:
        sent, received = run.summary
        if received > sent:
            doubts.append(f"{received:.0f} answers to {sent:.0f} probes: impossible")
        elif sent == 0:
            failures.append("it sent no probe")
        elif received == 0:
            failures.append(f"none of {sent:.0f} probes was answered")
        elif 1 - received / sent > MAX_LOSS:
            doubts.append(f"{received:.0f} of {sent:.0f} probes were answered: too few")
        if sent:
            metrics += [
                Metric("probes_sent", "packets", sent),
                Metric("probes_lost", "packets", sent - received),
                Metric("loss_ratio", "1", (sent - received) / sent),
            ]
    metrics += _times(run, doubts)
    if not run.times_ms and not run.extremes_ms and not failures and not doubts:
        failures.append("it has no round trip")
    metrics.append(Metric("duplicate_packets", "packets", run.duplicates))
    status, reason = judged(failures, doubts)
    size = run.payload_bytes + _HEADERS[run.version]
    return ForeignRun(
        file,
        run.line,
        measurement="rtt",
        parameters={"packet_size": size, "protocol": "icmp"},
        status=status,
        reason=reason,
        started_at=moment_of(run.at_s[0] if run.at_s else None),
        duration_s=max(0.0, run.at_s[-1] - run.at_s[0]) if run.at_s else 0.0,
        metrics=metrics,
        histograms=[_histogram(run.times_ms)] if run.times_ms else [],
    )


def _times(run: _Run, doubts: list[str]) -> Iterator[Metric]:
    if run.times_ms:
        times_us = 1e3 * np.array(run.times_ms)
        named = {f"p{percent}": at for percent, at in percentiles(times_us.tolist()).items()}
        named |= {
            "min": float(times_us.min()),
            "mean": float(times_us.mean()),
            "max": float(times_us.max()),
        }
    elif run.extremes_ms:  # ping -q
        if any(doubt("", value, 0, 1e3 * MOST_S, "ms") for value in run.extremes_ms):
            doubts.append("its statistics are impossible")
            return
        named = dict(zip(("min", "mean", "max"), (1e3 * v for v in run.extremes_ms), strict=True))
    else:
        return
    for name, value in named.items():
        yield Metric(f"rtt_{name}_us", "us", value)


def _histogram(times_ms: list[float]) -> Histogram:
    times_ns = [max(1, round(1e6 * milliseconds)) for milliseconds in times_ms]
    return Histogram("rtt_ns", "ns", encoded(times_ns, round(1e9 * MOST_S)))
