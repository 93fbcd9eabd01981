"""hey 0.1.x, ``hey -o csv``: one row per request, times in seconds, one file per run.

Columns: response-time, DNS+dialup, DNS, Request-write, Response-delay, Response-read, status-code,
and since 0.1.2 offset (the start of the request). Requests without a response have no row.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from culvert.journal.readers.figures import MOST_S, doubt, figure_in, percentiles
from culvert.journal.readers.foreign_run import ForeignRun, Found, judged
from culvert.journal.readers.reading import Text, read_text
from culvert.results import Metric, Series

COLUMNS = (
    "response-time",
    "DNS+dialup",
    "DNS",
    "Request-write",
    "Response-delay",
    "Response-read",
    "status-code",
)
OFFSET = "offset"
_MOST_DOUBTS = 5


def read(path: Path) -> Found:
    """The run of a file. Raises UsageError if the file cannot be read at all."""
    text = read_text(path)
    lines = text.lines()
    begin = next((n for n, line in enumerate(lines) if line.strip()), None)
    if begin is None:
        return Found([_run(text, [], [])], text.lost)
    header = tuple(lines[begin].strip().split(","))
    if header not in (COLUMNS, (*COLUMNS, OFFSET)):
        text.lose(begin + 1, "this is not CSV from hey: it has another header")
        return Found([], text.lost)
    rows: list[tuple[float, float, int]] = []
    doubts: list[str] = []
    for number, line in enumerate(lines[begin + 1 :], start=begin + 2):
        if not line.strip():
            continue
        row, why = _row(line, len(header))
        if row is None:
            text.lose(number, why)
        elif why:
            doubts.append(f"line {number}: {why}")
        else:
            rows.append(row)
    return Found([_run(text, rows, doubts)], text.lost)


def _row(line: str, width: int) -> tuple[tuple[float, float, int] | None, str]:
    """Response time, offset and status code of a request; or why the row is invalid or
    impossible."""
    cells = line.split(",")
    if len(cells) != width:
        return None, f"{len(cells)} of {width} columns: the row is truncated or damaged"
    numbers = [figure_in(cell) for cell in cells]
    if any(number is None for number in numbers):
        return None, "a value that is not a number"
    found = [number for number in numbers if number is not None]
    code = int(found[6]) if found[6] in range(100, 600) else 0
    row = (found[0], found[7] if width > len(COLUMNS) else 0.0, code)
    if not code:
        return row, f"status-code is {found[6]:g}: impossible"
    return row, doubt("response-time", row[0], 0, MOST_S, "s") or doubt(
        "offset", row[1], 0, 365 * MOST_S, "s"
    )


def _run(text: Text, rows: list[tuple[float, float, int]], doubts: list[str]) -> ForeignRun:
    answered = [row for row in rows if 200 <= row[2] < 400]
    failures = []
    if not rows and not doubts:
        failures.append("it has no request")
    elif not answered and not doubts:
        failures.append(f"none of {len(rows)} requests succeeded")
    if len(doubts) > _MOST_DOUBTS:
        doubts = [*doubts[:_MOST_DOUBTS], f"and {len(doubts) - _MOST_DOUBTS} more"]
    status, reason = judged(failures, doubts)
    times = np.array([row[0] for row in answered])
    offsets = np.array([row[1] for row in answered])
    metrics: list[Metric] = []
    series: list[Series] = []
    duration_s = 0.0
    if answered:
        duration_s = float((times + offsets).max())
        metrics = [
            *(
                Metric(f"response_p{percent}_ms", "ms", 1e3 * at)
                for percent, at in percentiles(times.tolist()).items()
            ),
            Metric("response_mean_ms", "ms", 1e3 * float(times.mean())),
            Metric("response_max_ms", "ms", 1e3 * float(times.max())),
            Metric("requests", "requests", len(rows)),
            Metric("error_ratio", "1", 1 - len(answered) / len(rows)),
        ]
        series = [Series("response_s", "s", (1e9 * offsets).astype(int).tolist(), times.tolist())]
    return ForeignRun(
        text.file,
        0,
        measurement="http",
        parameters={"tool": "hey"},
        status=status,
        reason=reason,
        duration_s=duration_s,
        metrics=metrics,
        series=series,
    )
