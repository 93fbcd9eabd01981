"""Additional tables of a report on imported data."""

from __future__ import annotations

import polars as pl

from culvert.journal.papers.kjorveziroski2024 import honest, published
from culvert.journal.papers.kjorveziroski2024.runs import cells

PAPER = "kjorveziroski2024"
PROTOCOLS = {"tcp": "a1-tcp", "udp": "a2-udp"}


def published_tables(trials: pl.DataFrame, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The tables of the paper whose data a journal contains, by file name. Frames of the
    journal."""
    runs = cells(trials, rows)
    return _filled({f"{PAPER}-{name}": published.table(runs, p) for p, name in PROTOCOLS.items()})


def foreign_tables(trials: pl.DataFrame, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The published tables, and Culvert's analysis of the same data."""
    found = published_tables(trials, rows)
    if found and (runs := cells(trials, rows)):
        for protocol, name in PROTOCOLS.items():
            found[f"{PAPER}-{name}-honest"] = honest.table(runs, protocol)
        found[f"{PAPER}-mann-whitney"] = honest.tests(runs)
    return _filled(found)


def _filled(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Tables with rows, their figures rounded to remove binary rounding noise."""
    return {
        name: table.with_columns(pl.col(pl.Float64).round_sig_figs(12))
        for name, table in tables.items()
        if not table.is_empty()
    }
