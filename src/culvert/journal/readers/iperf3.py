"""iperf3 3.1 to 3.19, ``--json`` and ``--json-stream``: TCP, UDP, reverse, bidirectional, omit.

Goodput is the receiver's count (``sum_received``). iperf3 itself excludes the seconds of
``--omit``. A file may have several documents, or an array of them; ``--title`` names the VPN. The
two directions of ``--bidir`` are separate runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from culvert.journal.readers.figures import MOST_BPS, MOST_S, doubt, figure, moment_of, table
from culvert.journal.readers.foreign_run import ForeignRun, Found, judged
from culvert.journal.readers.reading import Text, read_text
from culvert.journal.readers.salvage import Document, documents
from culvert.results import Metric, Series
from culvert.units import format_rate

MOST_STREAMS = 128
"""iperf3's limit."""

_UP, _DOWN = "up", "down"
"""From the client to the server, and the reverse."""
_REVERSE = "_bidir_reverse"


def read(path: Path) -> Found:
    """All runs of a file. Raises UsageError if the file cannot be read at all."""
    return found_in(read_text(path))


def found_in(text: Text) -> Found:
    """All runs of a text."""
    return Found(list(_runs(text)), text.lost)


def _runs(text: Text) -> Iterator[ForeignRun]:
    stream: dict[str, Any] | None = None
    line = 0
    for document in documents(text):
        for value in document.value if isinstance(document.value, list) else [document.value]:
            if not isinstance(value, Mapping):
                text.lose(document.line, "a document that is not an object")
            elif "event" not in value:
                yield from _of_document(text, value, document)
            else:
                if value["event"] == "start" and stream is not None:
                    yield from _of_stream(text, stream, line)
                    stream = None
                if stream is None:
                    stream, line = {}, document.line
                _add_event(stream, value)
                if value["event"] == "end":
                    yield from _of_stream(text, stream, line)
                    stream = None
    if stream is not None:
        text.lose(line, "its last event is missing: it is truncated")
        yield from _of_stream(text, stream, line)


def _add_event(stream: dict[str, Any], event: Mapping[str, Any]) -> None:
    """``--json-stream`` writes each part of the document on its own line."""
    name, data = event["event"], event.get("data")
    if name == "interval":
        stream.setdefault("intervals", []).append(data)
    elif name in ("start", "end", "error"):
        stream[name] = data


def _of_stream(text: Text, stream: Mapping[str, Any], line: int) -> Iterator[ForeignRun]:
    yield from _of_document(text, stream, Document(stream, line, whole="end" in stream))


def _of_document(text: Text, value: Mapping[str, Any], document: Document) -> Iterator[ForeignRun]:
    if "start" not in value and "end" not in value and "error" not in value:
        text.lose(document.line, "a document that iperf3 did not write")
        return
    start, end = table(value, "start"), table(value, "end")
    test = table(start, "test_start")
    reverse = bool(figure(test.get("reverse")))
    both = bool(figure(test.get("bidirectional"))) or f"sum_received{_REVERSE}" in end
    directions = [(_UP, ""), (_DOWN, _REVERSE)] if both else [(_DOWN if reverse else _UP, "")]
    for direction, suffix in directions:
        yield _run(text.file, document, value, direction, suffix, both=both)


def _run(
    file: str,
    document: Document,
    value: Mapping[str, Any],
    direction: str,
    suffix: str,
    *,
    both: bool,
) -> ForeignRun:
    start, end = table(value, "start"), table(value, "end")
    test = table(start, "test_start")
    udp = str(test.get("protocol", "")).upper() == "UDP"
    failures: list[str] = []
    doubts: list[str] = []
    metrics: list[Metric] = []
    seconds = 0.0
    if value.get("error"):
        failures.append(f"iperf3: {str(value['error'])[:200]}")
    elif not end:
        failures.append("it is truncated: the receiver's counts are missing")
    else:
        received, sent = _sums(end, suffix, udp=udp)
        seconds = figure(received.get("seconds")) or 0.0
        metrics += _goodput(_goodput_bps(received, udp=udp), failures, doubts)
        if why := doubt("seconds", seconds, 1e-3, 365 * MOST_S, "s"):
            doubts.append(why)
        metrics += _udp(received, doubts) if udp else _tcp(sent, doubts)
        metrics += _cpu(table(end, "cpu_utilization_percent"), doubts)
    status, reason = judged(failures, doubts)
    return ForeignRun(
        file,
        document.line,
        measurement="udp" if udp else "tcp",
        name=str(value.get("title") or start.get("title") or "")[:200],
        parameters=_parameters(test, end, direction, udp=udp, both=both),
        status=status,
        reason=reason,
        started_at=moment_of(figure(table(start, "timestamp").get("timesecs"))),
        duration_s=max(0.0, min(seconds, MOST_S)),
        metrics=metrics,
        series=_series(value.get("intervals"), suffix),
        reported={
            key: str(start[key])[:500] for key in ("version", "system_info") if start.get(key)
        },
    )


def _goodput(value: float | None, failures: list[str], doubts: list[str]) -> list[Metric]:
    if value is None:
        failures.append("the received amount is missing")
    elif value == 0:
        failures.append("nothing arrived")
    elif why := doubt("bits_per_second", value, 0, MOST_BPS, "bit/s"):
        doubts.append(why)
    else:
        return [Metric("goodput_bps", "bit/s", value)]
    return []


def _sums(
    end: Mapping[str, Any], suffix: str, *, udp: bool
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The counts of receiver and sender. UDP losses are in ``sum`` before 3.17."""
    received = dict(table(end, f"sum_received{suffix}"))
    if udp:
        alone = table(end, f"sum{suffix}")
        for key in ("jitter_ms", "lost_packets", "packets", "lost_percent"):
            if key in alone and not received.get(key):
                received[key] = alone[key]
        if not figure(received.get("bytes")):  # before 3.7, or the receiver did not report
            received |= {"sender_bps": alone.get("bits_per_second")}
            received.setdefault("seconds", alone.get("seconds"))
    return received, table(end, f"sum_sent{suffix}")


def _goodput_bps(received: Mapping[str, Any], *, udp: bool) -> float | None:
    bps = figure(received.get("bits_per_second"))
    if udp and not bps:
        sent, lost = figure(received.get("sender_bps")), figure(received.get("lost_percent"))
        return None if sent is None or lost is None else sent * (1 - lost / 100)
    return bps


def _udp(received: Mapping[str, Any], doubts: list[str]) -> Iterator[Metric]:
    packets, lost = figure(received.get("packets")), figure(received.get("lost_packets"))
    jitter_ms = figure(received.get("jitter_ms"))
    if packets is not None and lost is not None:
        if packets < 0 or not 0 <= lost <= packets:
            doubts.append(f"{lost:g} packets lost of {packets:g}: impossible")
        elif packets:
            yield Metric("offered_packets", "packets", packets)
            yield Metric("loss_ratio", "1", lost / packets)
    if jitter_ms is not None:
        if why := doubt("jitter_ms", jitter_ms, 0, 1e3 * MOST_S, "ms"):
            doubts.append(why)
        else:
            yield Metric("jitter_ms", "ms", jitter_ms)


def _tcp(sent: Mapping[str, Any], doubts: list[str]) -> Iterator[Metric]:
    retransmits = figure(sent.get("retransmits"))
    if retransmits is None:
        return
    if retransmits < 0:  # iperf3 writes -1 if the kernel does not report it
        if retransmits != -1:
            doubts.append(f"retransmits is {retransmits:g}: impossible")
        return
    yield Metric("retransmitted_segments", "segments", retransmits)


def _cpu(usage: Mapping[str, Any], doubts: list[str]) -> Iterator[Metric]:
    """CPU of iperf3 itself, in per cent of one core; the host is the client."""
    for key, node in (("host_total", "a"), ("remote_total", "b")):
        percent = figure(usage.get(key))
        if percent is None:
            continue
        if why := doubt(f"cpu {key}", percent, 0, 1e5, "%"):
            doubts.append(why)
        else:
            yield Metric("iperf3_cpu_percent", "%", percent, {"node": node})


def _parameters(
    test: Mapping[str, Any], end: Mapping[str, Any], direction: str, *, udp: bool, both: bool
) -> dict[str, Any]:
    found: dict[str, Any] = {"direction": direction}
    if both:
        found["bidirectional"] = True
    for key, name in (("num_streams", "streams"), ("duration", "duration"), ("omit", "warmup")):
        number = figure(test.get(key))
        if number is not None and not (key == "omit" and number == 0):
            found[name] = int(number) if number == int(number) else number
    if udp:
        if size := figure(test.get("blksize")):
            found["payload_bytes"] = int(size)
        found |= _rate(test)
    elif isinstance(congestion := end.get("sender_tcp_congestion"), str):
        found["congestion_control"] = congestion[:16]
    return found


def _rate(test: Mapping[str, Any]) -> dict[str, str | None]:
    """The offered rate of all streams (``-b`` is that of each), None for as fast as possible
    (``-b 0``); nothing where old versions do not write it."""
    each_bps, streams = figure(test.get("target_bitrate")), figure(test.get("num_streams"))
    if each_bps is None or not 0 <= each_bps <= MOST_BPS:
        return {}
    rate_bps = int(each_bps) * max(1, min(int(streams or 1), MOST_STREAMS))
    return {"rate": format_rate(rate_bps) if rate_bps else None}


def _series(intervals: object, suffix: str) -> list[Series]:
    """Bits per second of each interval that counts, at its end."""
    points: list[tuple[int, float]] = []
    for interval in intervals if isinstance(intervals, Sequence) else ():
        total = table(interval, f"sum{suffix}")
        end_s, bps = figure(total.get("end")), figure(total.get("bits_per_second"))
        if end_s is None or bps is None or total.get("omitted") is True:
            continue
        if not 0 <= end_s <= 365 * MOST_S or doubt("", bps, 0, MOST_BPS, ""):
            continue
        points.append((round(1e9 * end_s), bps))
    if not points:
        return []
    return [Series("interval_bps", "bit/s", [t for t, _ in points], [v for _, v in points])]
