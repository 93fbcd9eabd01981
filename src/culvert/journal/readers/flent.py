"""flent 1.x and 2.x: ``*.flent`` and ``*.flent.gz``, file format 1 to 4, one test per file.

A series of flent is a list of values, one for each of ``x_values`` (seconds), null where one is
missing. Its name is its kind: "Ping (ms) ICMP", "TCP download sum", "TCP upload::1". A trial gets
the median of each; the main ones get Culvert's metric names, in bit/s and us. Format 4 changed the
raw values; they are not read.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from culvert.journal.readers.figures import MOST_BPS, MOST_S, doubt, figure, moment
from culvert.journal.readers.foreign_run import ForeignRun, Found, judged
from culvert.journal.readers.reading import Text, read_text
from culvert.journal.readers.salvage import Document, documents
from culvert.results import Metric, Series

NEWEST_FORMAT = 4
MOST_SERIES = 1000
MOST_VALUE = 1e18
"""Of any unit: sums of some values are finite, too."""
MEGA = 1e6
_LEADING = (
    ("rtt_loaded_p50_us", "us", 1e3, ("Ping (ms) avg", "Ping (ms) ICMP", "Ping (ms)::ICMP")),
    ("goodput_down_bps", "bit/s", MEGA, ("TCP download sum", "TCP download", "Download")),
    ("goodput_up_bps", "bit/s", MEGA, ("TCP upload sum", "TCP upload", "Upload")),
    ("goodput_bps", "bit/s", MEGA, ("TCP totals", "TCP total")),
)
"""Culvert's metric, its unit, units per unit of flent, and flent's names, preferred first."""
_NEVER_NEGATIVE = frozenset(name for *_, names in _LEADING for name in names)
"""Other series may have negative values: CoDel's drop_next is relative to now."""


def read(path: Path) -> Found:
    """The run of a file. Raises UsageError if the file cannot be read at all."""
    text = read_text(path)
    runs = [run for document in documents(text) for run in _of_document(text, document)]
    return Found(runs, text.lost)


def _of_document(text: Text, document: Document) -> Iterator[ForeignRun]:
    value = document.value
    metadata = value.get("metadata") if isinstance(value, Mapping) else None
    if not isinstance(metadata, Mapping):
        text.lose(document.line, "a document that flent did not write")
        return
    version = figure(value.get("version"))
    if version is not None and version > NEWEST_FORMAT:
        why = (
            f"its format {version:g} is newer than {NEWEST_FORMAT}, the newest that this version "
            "of Culvert reads"
        )
        text.lose(document.line, why)
        return
    yield _run(text.file, document, value, metadata)


def _run(
    file: str, document: Document, value: Mapping[str, Any], metadata: Mapping[str, Any]
) -> ForeignRun:
    failures: list[str] = []
    doubts: list[str] = []
    found = list(_points(value, doubts)) if document.whole else []
    if not document.whole:
        failures.append("it is truncated: its series are incomplete")
    elif not found:
        failures.append("no series of it has a value")
    metrics: list[Metric] = []
    series: list[Series] = []
    medians: dict[str, float] = {}
    for name, t_ns, values in found:
        medians[name] = statistics.median(values)
        series.append(Series("flent", "as named", t_ns, values, {"series": name}))
    metrics += _leading(medians, doubts)
    metrics += [
        Metric("flent_median", "as named", median, {"series": name})
        for name, median in medians.items()
    ]
    status, reason = judged(failures, doubts[:5])
    length = figure(metadata.get("TOTAL_LENGTH")) or figure(metadata.get("LENGTH")) or 0.0
    kept = ("FLENT_VERSION", "LOCAL_HOST", "HOST", "IP_VERSION", "KERNEL_RELEASE")
    return ForeignRun(
        file,
        document.line,
        measurement="flent",
        name=str(metadata.get("TITLE") or "")[:200],
        parameters={"test": str(metadata.get("NAME") or "unnamed")[:100]},
        status=status,
        reason=reason,
        started_at=moment(metadata.get("T0")) or moment(metadata.get("TIME")),
        duration_s=max(0.0, min(length, MOST_S)),
        metrics=metrics,
        series=series,
        reported={key: str(metadata[key])[:200] for key in kept if metadata.get(key) is not None},
    )


def _points(
    value: Mapping[str, Any], doubts: list[str]
) -> Iterator[tuple[str, list[int], list[float]]]:
    """Name, times in ns and values of each series with values."""
    times = value.get("x_values")
    results = value.get("results")
    if not isinstance(times, list) or not isinstance(results, Mapping):
        return
    for name, values in list(results.items())[:MOST_SERIES]:
        if not isinstance(values, list):
            continue
        if len(values) != len(times):
            doubts.append(f"series {name[:60]!r} has {len(values)} values for {len(times)} times")
        pairs = [
            (at, one)
            for at, one in zip(map(figure, times), map(figure, values), strict=False)
            if at is not None and one is not None and abs(at) <= 365 * MOST_S
        ]
        if any(abs(one) > MOST_VALUE for _, one in pairs):
            doubts.append(f"series {name[:60]!r} has a value beyond {MOST_VALUE:g}: impossible")
            continue
        if name in _NEVER_NEGATIVE and any(one < 0 for _, one in pairs):
            doubts.append(f"series {name[:60]!r} has a negative value: impossible")
        if pairs:
            yield name[:200], [round(1e9 * at) for at, _ in pairs], [one for _, one in pairs]


def _leading(medians: Mapping[str, float], doubts: list[str]) -> Iterator[Metric]:
    for metric, unit, factor, names in _LEADING:
        name = next((name for name in names if name in medians), None)
        if name is None:
            continue
        value = factor * medians[name]
        if why := doubt(name, value, 0, MOST_BPS if unit == "bit/s" else 1e6 * MOST_S, unit):
            doubts.append(why)
        else:
            yield Metric(metric, unit, value)
