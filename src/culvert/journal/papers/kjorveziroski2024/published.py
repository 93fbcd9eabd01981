"""Tables A1 and A2 as published: mean, deviation, how many times slower than the baselines."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from culvert.journal.papers.kjorveziroski2024.order import CONFIGURATIONS
from culvert.journal.papers.kjorveziroski2024.runs import (
    BASE_1230,
    BASE_1450,
    CONDITIONS,
    PAPER_CONDITIONS,
    Key,
    PaperCell,
    cells,
    paper_name,
)
from culvert.statistics.values import describe


def table(cells: Mapping[Key, PaperCell], protocol: str) -> pl.DataFrame:
    """A1 (tcp) or A2 (udp): 42 rows if the data is complete, in the paper's order.

    Columns: test, condition, runs, dropped, mean and sd (Mbit/s; sd with n - 1), cv, times_1450 and
    times_1230 (mean of that baseline over mean; null if it has no run).
    """
    found = []
    for name in CONFIGURATIONS[2:]:
        for condition in CONDITIONS:
            cell = cells.get((name, protocol, condition))
            if cell is None or not cell.values.size:
                continue
            summary = describe(cell.values)
            found.append(
                {
                    "test": paper_name(name),
                    "condition": PAPER_CONDITIONS[condition],
                    "runs": summary.n,
                    "dropped": cell.dropped,
                    "mean": summary.mean,
                    "sd": summary.sd,
                    "cv": summary.cv,
                    "times_1450": _times(cells.get((BASE_1450, protocol, condition)), summary.mean),
                    "times_1230": _times(cells.get((BASE_1230, protocol, condition)), summary.mean),
                }
            )
    return pl.DataFrame(found, schema=_SCHEMA)


_SCHEMA = {
    "test": pl.String,
    "condition": pl.String,
    "runs": pl.Int64,
    "dropped": pl.Int64,
    "mean": pl.Float64,
    "sd": pl.Float64,
    "cv": pl.Float64,
    "times_1450": pl.Float64,
    "times_1230": pl.Float64,
}


def _times(baseline: PaperCell | None, mean: float) -> float | None:
    if baseline is None or not baseline.values.size or mean == 0:
        return None
    return describe(baseline.values).mean / mean


PAPER = "kjorveziroski2024"
PROTOCOLS = {"tcp": "a1-tcp", "udp": "a2-udp"}


def published_tables(trials: pl.DataFrame, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The tables of the paper whose data a journal contains, by file name. Frames of the
    journal; figures are rounded to remove binary rounding noise."""
    runs = cells(trials, rows)
    tables = {f"{PAPER}-{name}": table(runs, p) for p, name in PROTOCOLS.items()}
    return {
        name: table.with_columns(pl.col(pl.Float64).round_sig_figs(12))
        for name, table in tables.items()
        if not table.is_empty()
    }
