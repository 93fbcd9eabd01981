"""iperf3 3.1 to 3.19, ``--json`` and ``--json-stream``: TCP, UDP, reverse, bidirectional, omit.

Files of the client, and of the server (``-s``), which has only its own side of a test; both of one
test have its cookie.

Goodput is the receiver's count (``sum_received``). iperf3 itself excludes the seconds of
``--omit``. A file may have several documents, or an array of them; ``--title`` names the VPN. The
two directions of ``--bidir`` are separate runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from culvert.journal.readers.envelope import Enclosed, opened
from culvert.journal.readers.figures import MOST_BPS, MOST_S, doubt, figure, moment_of, table
from culvert.journal.readers.foreign_run import ForeignRun, Found, Side, judged
from culvert.journal.readers.reading import Text, read_text
from culvert.journal.readers.salvage import Document, documents
from culvert.json_text import Pairs, once
from culvert.results import Metric, Series
from culvert.units import format_rate

MOST_STREAMS = 128
"""iperf3's limit."""

LEAST_S = 1e-6
"""The resolution of its times: -n ends a test after some microseconds."""

SENT_ONLY = (
    "a server's file lacks what its client received, so the rate that was sent (sent_bps) is not "
    "goodput: import the client's file"
)
_REVERSE = "_bidir_reverse"
"""Ends the keys of what the server sent with --bidir."""


def read(path: Path) -> Found:
    """All runs of a file. Raises UsageError if the file cannot be read at all."""
    return found_in(read_text(path))


def found_in(text: Text) -> Found:
    """The runs in a text of iperf3."""
    return Found(list(_runs(text)), text.lost)


def both_ways(pairs: Pairs) -> dict[str, Any]:
    """3.7 to 3.10.1 write both directions of ``--bidir`` under one key, first what the client sends
    (issue 952). Later versions end the key of the second so.

    Raises ValueError for a third value.
    """
    first: dict[str, Any] = {}
    named = []
    for key, value in pairs:
        # Sums of both directions may be equal; settings that are equal are the same one.
        again = key in first and (isinstance(value, dict) or value != first[key])
        first.setdefault(key, value)
        named.append((key + _REVERSE if again else key, value))
    return once(named)


def _runs(text: Text) -> Iterator[ForeignRun]:
    stream: dict[str, Any] | None = None
    line = 0
    for document in documents(text, both_ways):
        values = document.value if isinstance(document.value, list) else [document.value]
        for enclosed in (one for value in values for one in opened(value)):
            value = enclosed.document
            if not isinstance(value, Mapping):
                text.lose(document.line, "a document that is not an object")
            elif "event" not in value:
                yield from _of_document(text, enclosed, document)
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
    whole = Document(stream, line, whole="end" in stream)
    yield from _of_document(text, Enclosed(stream), whole)


def _of_document(text: Text, enclosed: Enclosed, document: Document) -> Iterator[ForeignRun]:
    value = enclosed.document
    if "start" not in value and "end" not in value and "error" not in value:
        text.lose(document.line, "a document that iperf3 did not write")
        return
    for flow in _flows(table(value, "start"), table(value, "end")):
        run = _run(text.file, document, value, flow)
        if enclosed.path:
            run = replace(run, reported={**run.reported, "path": enclosed.path})
        if enclosed.pairs > 1:
            run = replace(run, parameters={**run.parameters, "pairs": enclosed.pairs})
        yield run


class _Direction(StrEnum):
    """From the client to the server, and the reverse."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True)
class _Flow:
    """One direction of a test, as the program on one side saw it.

    ``server``: the file is of the server, which writes it before the client tells what it counted
    (iperf3's issue 1410): it has figures of its own side only, and zeros for the client's.
    """

    direction: _Direction
    suffix: str
    """Of its sums in the document."""
    both: bool
    """The other direction ran at the same time."""
    server: bool
    udp: bool

    @property
    def received_is_known(self) -> bool:
        return not self.server or self.direction is _Direction.UP

    @property
    def sent_is_known(self) -> bool:
        return not self.server or self.direction is _Direction.DOWN


def _flows(start: Mapping[str, Any], end: Mapping[str, Any]) -> list[_Flow]:
    test = table(start, "test_start")
    server = "accepted_connection" in start
    udp = str(test.get("protocol", "")).upper() == "UDP"
    both = any(figure(test.get(key)) for key in ("bidir", "bidirectional"))
    if both or f"sum_received{_REVERSE}" in end:
        ways = {_Direction.UP: "", _Direction.DOWN: _REVERSE}
        return [_Flow(way, suffix, True, server, udp) for way, suffix in ways.items()]
    # The sums state it since 3.7; a server of another version may not know of --reverse.
    # Of UDP only ``sum`` states it, the others name their own side.
    sends = table(end, "sum" if udp else "sum_sent").get("sender")
    down = sends is server if isinstance(sends, bool) else bool(figure(test.get("reverse")))
    return [_Flow(_Direction.DOWN if down else _Direction.UP, "", False, server, udp)]


def _run(file: str, document: Document, value: Mapping[str, Any], flow: _Flow) -> ForeignRun:
    start, end = table(value, "start"), table(value, "end")
    failures: list[str] = []
    doubts: list[str] = []
    metrics: list[Metric] = []
    seconds = 0.0
    if value.get("error"):
        failures.append(f"iperf3: {str(value['error'])[:200]}")
    elif not end:
        failures.append("it is truncated: the receiver's counts are missing")
    else:
        received, sent = _counts(end, flow)
        seconds = figure((received if flow.received_is_known else sent).get("seconds")) or 0.0
        if flow.received_is_known:
            arrived_bps = _goodput_bps(received, udp=flow.udp)
            if flow.server and not arrived_bps:  # of UDP, before 3.17: the sums are the client's
                arrived_bps, seconds = _of_intervals(value.get("intervals"), flow.suffix)
            metrics += _rate_of("goodput_bps", "arrived", arrived_bps, failures, doubts)
            metrics += _udp(received, doubts) if flow.udp else ()
        else:
            sent_bps = figure(sent.get("bits_per_second"))
            metrics += _rate_of("sent_bps", "was sent", sent_bps, failures, doubts)
        if why := doubt("seconds", seconds, LEAST_S, 365 * MOST_S, "s"):
            doubts.append(why)
        metrics += _tcp(sent, doubts) if flow.sent_is_known and not flow.udp else ()
        metrics += _cpu(table(end, "cpu_utilization_percent"), flow, doubts)
    status, reason = judged(failures, doubts)
    return ForeignRun(
        file,
        document.line,
        measurement="udp" if flow.udp else "tcp",
        name=str(value.get("title") or start.get("title") or "")[:200],
        parameters=_parameters(start, end, flow),
        status=status,
        reason=reason,
        started_at=moment_of(figure(table(start, "timestamp").get("timesecs"))),
        duration_s=max(0.0, min(seconds, MOST_S)),
        metrics=metrics,
        series=_series(value.get("intervals"), flow.suffix),
        reported={
            key: str(start[key])[:500] for key in ("version", "system_info") if start.get(key)
        }
        | ({"side": str(Side.SERVER)} if flow.server else {}),
        note="" if flow.received_is_known else SENT_ONLY,
        test=_test(start),
        side=Side.SERVER if flow.server else Side.CLIENT,
        received=flow.server is (flow.direction is _Direction.UP),
    )


def _test(start: Mapping[str, Any]) -> str:
    """The client draws a cookie for each test, and the server records it. One that repeats a
    single character was overwritten, to publish the file."""
    cookie = start.get("cookie")
    return cookie[:64] if isinstance(cookie, str) and len(set(cookie)) > 1 else ""


def _rate_of(
    name: str, verb: str, value: float | None, failures: list[str], doubts: list[str]
) -> list[Metric]:
    if value is None:
        failures.append(f"the amount that {verb} is missing")
    elif value == 0:
        failures.append(f"nothing {verb}")
    elif why := doubt("bits_per_second", value, 0, MOST_BPS, "bit/s"):
        doubts.append(why)
    else:
        return [Metric(name, "bit/s", value)]
    return []


def _counts(end: Mapping[str, Any], flow: _Flow) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The counts of receiver and sender. UDP losses are in ``sum`` before 3.17."""
    received = dict(table(end, f"sum_received{flow.suffix}"))
    sent = table(end, f"sum_sent{flow.suffix}")
    if flow.udp:
        alone = table(end, f"sum{flow.suffix}")
        for key in ("jitter_ms", "lost_packets", "packets", "lost_percent"):
            if key in alone and not received.get(key):
                received[key] = alone[key]
        if not figure(received.get("bytes")):  # before 3.7, or the receiver did not report
            received |= {"sender_bps": alone.get("bits_per_second")}
            received.setdefault("seconds", alone.get("seconds"))
        sent = sent or alone
    return received, sent


def _of_intervals(intervals: object, suffix: str) -> tuple[float | None, float]:
    """Rate and time of the intervals that count."""
    size, seconds = 0.0, 0.0
    for interval in intervals if isinstance(intervals, Sequence) else ():
        total = table(interval, f"sum{suffix}")
        if total.get("omitted") is not True:
            size += figure(total.get("bytes")) or 0.0
            seconds += figure(total.get("seconds")) or 0.0
    return (8 * size / seconds if seconds > 0 else None), seconds


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


def _cpu(usage: Mapping[str, Any], flow: _Flow, doubts: list[str]) -> Iterator[Metric]:
    """CPU of iperf3 itself, in per cent of one core. The client is node a."""
    sides = {"host_total": "b"} if flow.server else {"host_total": "a", "remote_total": "b"}
    for key, node in sides.items():
        percent = figure(usage.get(key))
        if percent is None:
            continue
        if why := doubt(f"cpu {key}", percent, 0, 1e5, "%"):
            doubts.append(why)
        else:
            yield Metric("iperf3_cpu_percent", "%", percent, {"node": node})


_OPTIONS = (
    ("num_streams", "streams", None),
    ("duration", "duration", 0),
    ("bytes", "bytes", 0),  # -n
    ("blocks", "blocks", 0),  # -k
    ("omit", "warmup", 0),
    ("tos", "tos", 0),
    ("fqrate", "fq_rate_bps", 0),
)
"""Keys of ``test_start``, the parameters, and the values that stand for "not given"."""
_TCP_OPTIONS = (("sock_bufsize", "socket_buffer_bytes", 0), ("tcp_mss", "mss_bytes", 0))
"""Keys of ``start`` (-w, -M), the parameters, and the values that stand for "not given"."""
_TCP_BLOCK_BYTES = 131072
"""iperf3's own size of a write (-l)."""


def _parameters(start: Mapping[str, Any], end: Mapping[str, Any], flow: _Flow) -> dict[str, Any]:
    """What makes runs comparable: every option that changes what is measured, if it was given."""
    test = table(start, "test_start")
    found: dict[str, Any] = {"direction": str(flow.direction)}
    if flow.both:
        found["bidirectional"] = True
    given = [(test, *option) for option in _OPTIONS] + [(start, *option) for option in _TCP_OPTIONS]
    for place, key, name, absent in given:
        number = figure(place.get(key))
        if number is not None and number != absent:
            found[name] = int(number) if number == int(number) else number
    block_bytes = figure(test.get("blksize"))
    if block_bytes and (flow.udp or block_bytes != _TCP_BLOCK_BYTES):
        found["payload_bytes" if flow.udp else "write_size"] = int(block_bytes)
    found |= _rate(start, flow)
    congestion = end.get("sender_tcp_congestion")
    if not flow.udp and isinstance(congestion, str):
        found["congestion_control"] = congestion[:16]
    return found


def _rate(start: Mapping[str, Any], flow: _Flow) -> dict[str, str | None]:
    """The offered rate of all streams (``-b`` is that of each). UDP without a limit (``-b 0``) is
    None, TCP without one is the rule; nothing where old versions do not write it."""
    test = table(start, "test_start")
    each_bps = figure(test.get("target_bitrate", start.get("target_bitrate")))
    streams = figure(test.get("num_streams"))
    if each_bps is None or not 0 <= each_bps <= MOST_BPS or not (each_bps or flow.udp):
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
