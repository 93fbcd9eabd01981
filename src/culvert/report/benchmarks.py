"""A run as the input of trackers of benchmarks: Bencher and github-action-benchmark.

Both get the medians of the metrics that ``culvert compare`` compares, of every VPN and cell.
Sources: https://bencher.dev/docs/reference/bencher-metric-format and the section on custom
benchmarks of https://github.com/benchmark-action/github-action-benchmark.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from culvert.analysis.declared import better_of, compared_metrics
from culvert.journal.format import Format
from culvert.metrics import Better
from culvert.report.model import read


@dataclass(frozen=True)
class Benchmark:
    """One metric of one cell: its median, and its interval where there are enough trials."""

    name: str
    metric: str
    unit: str
    better: Better
    n: int
    median: float
    low: float | None
    high: float | None


def benchmarks(directory: Path) -> list[Benchmark]:
    """Those of a run. Raises JournalError."""
    data = read(directory)
    compared = pl.col("metric").is_in(compared_metrics())
    rows = data.summary.filter(compared, labels="{}")
    return [
        Benchmark(
            f"{row['vpn']}, "
            + data.labels.cell(row["condition"], row["measurement"], row["parameters"]),
            row["metric"],
            row["unit"],
            better_of(row["metric"], row["measurement"]),
            row["n"],
            row["median"],
            row["low"],
            row["high"],
        )
        for row in rows.iter_rows(named=True)
    ]


def tracked(found: list[Benchmark], tracker: Format) -> Any:
    """The document of that tracker, for JSON."""
    if tracker is Format.BENCHER:
        return _bencher(found)
    wanted = Better.MORE if tracker is Format.BIGGER else Better.LESS
    return list(_custom(one for one in found if one.better is wanted))


def _bencher(found: list[Benchmark]) -> dict[str, dict[str, dict[str, float]]]:
    document: dict[str, dict[str, dict[str, float]]] = {}
    for one in found:
        values = {"value": one.median, "lower_value": one.low, "upper_value": one.high}
        measure = one.metric.replace("_", "-")
        known = {name: value for name, value in values.items() if value is not None}
        document.setdefault(one.name, {})[measure] = known
    return document


def _custom(found: Iterator[Benchmark]) -> Iterator[dict[str, Any]]:
    for one in found:
        entry = {"name": f"{one.name}: {one.metric}", "unit": one.unit, "value": one.median}
        if one.low is not None and one.high is not None:
            entry["range"] = f"{one.low:g} to {one.high:g}"
        yield entry | {"extra": f"median of {one.n} trials"}
