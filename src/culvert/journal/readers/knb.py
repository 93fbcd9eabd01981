"""KNB (k8s-bench-suite 1.5): iperf3 between pods, as CSV rows or as KNB's own JSON.

CSV is what kjorveziroski2024 merged from KNB's results: one row per run, bandwidth in Mbit/s, CPU
in per cent of a node, memory in MB; -1 if KNB's output was damaged. Columns are found by name.
JSON is ``knb -o json``: one document per call, or an array of them; several runs in each. The
condition is not in it, but in a file name with loss5p and delay250ms.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from culvert.journal.readers.figures import MOST_BPS, doubt, figure, figure_in, moment, table
from culvert.journal.readers.foreign_run import CLEAN, ForeignRun, Found, judged
from culvert.journal.readers.reading import Text, read_text
from culvert.journal.readers.salvage import documents
from culvert.results import Metric

NEEDED = ("benchmark-name", "benchmark-type", "bandwidth", "transport-protocol")
KINDS = ("tcp", "udp", "idle")
_NODES = {"client": "a", "server": "b"}
"""The client sends: it is node a."""
_USAGE = {"cpu": ("node_cpu_percent", "%", 1.0), "ram": ("node_memory_bytes", "bytes", 1e6)}
_MOST = {"cpu": 100.0, "ram": 1e9}
MEGA = 1e6
_TAR = "\x00ustar"
"""The magic of a tar archive, at offset 257."""
_CONDITION = re.compile(r"loss(\d+)p?[-_]delay(\d+)", re.ASCII)


def read(path: Path) -> Found:
    """All runs of a file. Raises UsageError if the file cannot be read at all."""
    text = read_text(path)
    if _TAR in text.text[:600]:
        text.lost[:] = []
        why = "this is KNB's raw data: convert it into JSON with knb --from-data FILE -o json"
        text.lose(0, why)
        return Found([], text.lost)
    begin = text.text.lstrip()[:1]
    runs = list(_of_json(text) if begin in ("{", "[") else _of_csv(text))
    return Found(runs, text.lost)


def _of_csv(text: Text) -> Iterator[ForeignRun]:
    header: list[str] | None = None
    for line, content in enumerate(text.lines(), start=1):
        if not content.strip():
            continue
        cells = _cells(content)
        if header is None:
            header = [cell.strip() for cell in cells]
            missing = [name for name in NEEDED if name not in header]
            if missing:
                why = f"this is not a KNB table: it has no column {', '.join(missing)}"
                text.lose(line, why)
                return
        elif len(cells) != len(header):
            why = f"{len(cells)} of {len(header)} columns: the row is truncated or damaged"
            text.lose(line, why)
        elif dict(zip(header, cells, strict=True))["transport-protocol"].strip() not in KINDS:
            text.lose(line, "its transport-protocol is unknown")
        else:
            row = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
            yield _of_row(text.file, line, row)


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line]), [])
    except csv.Error:  # a field of more than 128 kB
        return []


def _of_row(file: str, line: int, row: Mapping[str, str]) -> ForeignRun:
    usage = {
        f"{side}-{kind}": row[f"{side}-{kind}"]
        for side in _NODES
        for kind in _USAGE
        if f"{side}-{kind}" in row
    }
    reported = {key: row[key] for key in ("mtu", "server-node", "client-node") if row.get(key)}
    return _run(
        file,
        line,
        name=row["benchmark-name"],
        path=row["benchmark-type"],
        protocol=row["transport-protocol"],
        bandwidth=(row["bandwidth"], figure_in(row["bandwidth"])),
        usage={key: (text, figure_in(text)) for key, text in usage.items()},
        condition=condition(row.get("loss", ""), row.get("delay", "")),
        socket_buffer=row.get("socket-buffer-size", ""),
        reported=reported,
    )


def condition(loss: str, delay: str) -> str:
    """``clean``, ``loss-5``, ``delay-250ms`` or both, from per cent and milliseconds.

    Empty if the data has neither column.
    """
    if not loss and not delay:
        return ""
    parts = []
    if (figure_in(loss) or 0) != 0:
        parts.append(f"loss-{figure_in(loss):g}")
    if (figure_in(delay) or 0) != 0:
        parts.append(f"delay-{figure_in(delay):g}ms")
    return "-".join(parts) or CLEAN


ReportedValue = tuple[object, float | None]
"""A value as in the file, and as a number."""


def _buffer_bytes(text: str) -> int | str:
    """iperf3's -w, whose units are powers of 1024, as its files have it; other text as it is."""
    found = re.fullmatch(r"(\d{1,9})([KMG]?)", text.strip().upper())
    return int(found[1]) << 10 * " KMG".index(found[2] or " ") if found else text


def _run(
    file: str,
    line: int,
    *,
    name: str,
    path: str,
    protocol: str,
    bandwidth: ReportedValue,
    usage: Mapping[str, ReportedValue],
    condition: str = "",
    socket_buffer: str = "",
    started_at: datetime | None = None,
    reported: Mapping[str, Any],
) -> ForeignRun:
    failures: list[str] = []
    doubts: list[str] = []
    metrics = [] if protocol == "idle" else _goodput(bandwidth, failures, doubts)
    for key, (text, number) in usage.items():
        side, _, kind = key.partition("-")
        metric, unit, factor = _USAGE[kind]
        if number is None:
            doubts.append(f"{key} is {str(text)[:40]!r}, not a number")
        elif why := doubt(key, number, 0, _MOST[kind], "%" if kind == "cpu" else "MB"):
            doubts.append(why)
        else:
            metrics.append(Metric(metric, unit, number * factor, {"node": _NODES[side]}))
    parameters: dict[str, Any] = {"path": path}
    if socket_buffer:
        parameters["socket_buffer_bytes"] = _buffer_bytes(socket_buffer)
    status, reason = judged(failures, doubts)
    return ForeignRun(
        file,
        line,
        measurement=protocol,
        name=name,
        condition=condition,
        parameters=parameters,
        status=status,
        reason=reason,
        started_at=started_at,
        metrics=metrics,
        reported=reported,
    )


def _goodput(bandwidth: ReportedValue, failures: list[str], doubts: list[str]) -> list[Metric]:
    raw, value = bandwidth
    if value is None:
        failures.append(f"its bandwidth is {str(raw)[:40]!r}, not a number")
    elif value < 0:
        failures.append(f"it has no bandwidth ({value:g}): KNB could not read iperf3's output")
    elif value == 0:
        failures.append("its bandwidth is 0 Mbit/s: nothing arrived")
    elif why := doubt("bandwidth", value * MEGA, 0, MOST_BPS, "bit/s"):
        doubts.append(why)
    else:
        return [Metric("goodput_bps", "bit/s", value * MEGA)]
    return []


def _of_json(text: Text) -> Iterator[ForeignRun]:
    match = _CONDITION.search(text.file)
    named = condition(match[1], match[2]) if match else ""
    for document in documents(text):
        calls = document.value if isinstance(document.value, list) else [document.value]
        for call in calls:
            metadata, data = table(call, "metadata"), table(call, "data")
            found = list(_of_call(text.file, document.line, named, metadata, data))
            if not found:
                why = "a document without a run of KNB"
                text.lose(document.line, why)
            yield from found


def _of_call(
    file: str, line: int, condition: str, metadata: Mapping[str, Any], data: Mapping[str, Any]
) -> Iterator[ForeignRun]:
    kept = ("server-node", "client-node", "generator", "version", "date")
    reported = {key: metadata[key] for key in kept if key in metadata}
    reported |= {key: data[key] for key in ("mtu", "kernel", "cpu", "k8s-version") if key in data}
    for path in ("idle", "pod2pod", "pod2svc"):
        runs = data.get(path)
        if not isinstance(runs, Mapping):
            continue
        for protocol, run in [("idle", runs)] if path == "idle" else list(runs.items()):
            if protocol not in KINDS or not isinstance(run, Mapping):
                continue
            yield _run(
                file,
                line,
                name="",  # metadata.name is KNB's process, which differs for each call
                path=path,
                protocol=protocol,
                bandwidth=(run.get("bandwidth"), figure(run.get("bandwidth"))),
                usage=dict(_usage(run)),
                condition=condition,
                socket_buffer=str(metadata.get("socket-buffer-size") or "")[:20],
                started_at=moment(metadata.get("date")),
                reported=reported,
            )


def _usage(run: Mapping[str, Any]) -> Iterator[tuple[str, ReportedValue]]:
    for side in _NODES:
        node = table(run, side)
        cpu = table(node, "cpu").get("total")
        for kind, value in (("cpu", cpu), ("ram", node.get("ram"))):
            if value is not None:
                yield f"{side}-{kind}", (value, figure(value))
