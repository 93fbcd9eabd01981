"""A run as the input of trackers of benchmarks: Bencher and github-action-benchmark.

Both get the medians of the metrics that ``culvert compare`` compares, of every VPN and cell.
Sources: https://bencher.dev/docs/reference/bencher-metric-format and the section on custom
benchmarks of https://github.com/benchmark-action/github-action-benchmark.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from culvert.analysis.declared import better_of, compared_metrics
from culvert.analysis.observations import CELL
from culvert.journal.format import Format
from culvert.metrics import Better
from culvert.report.model import read


def benchmarks(directory: Path) -> pl.DataFrame:
    """The rows of a run's summary, with ``name``, that of the cell. Raises JournalError."""
    data = read(directory)
    rows = data.summary.filter(pl.col("metric").is_in(compared_metrics()), labels="{}")
    names = [f"{vpn}, {data.labels.cell(*cell)}" for vpn, *cell in rows.select(CELL).iter_rows()]
    return rows.with_columns(name=pl.Series(names, dtype=pl.String))


def tracked(found: pl.DataFrame, tracker: Format) -> Any:
    """The document of that tracker, for JSON."""
    rows = found.iter_rows(named=True)
    if tracker is Format.BENCHER:
        document: dict[str, dict[str, dict[str, float]]] = {}
        for row in rows:
            ends = {"value": "median", "lower_value": "low", "upper_value": "high"}
            known = {name: row[end] for name, end in ends.items() if row[end] is not None}
            document.setdefault(row["name"], {})[row["metric"].replace("_", "-")] = known
        return document
    wanted = Better.MORE if tracker is Format.BIGGER else Better.LESS
    return [_custom(row) for row in rows if better_of(row["metric"], row["measurement"]) is wanted]


def _custom(row: dict[str, Any]) -> dict[str, Any]:
    entry = {
        "name": f"{row['name']}: {row['metric']}",
        "unit": row["unit"],
        "value": row["median"],
    }
    if row["low"] is not None and row["high"] is not None:
        entry["range"] = f"{row['low']:g} to {row['high']:g}"
    return entry | {"extra": f"median of {row['n']} trials"}
