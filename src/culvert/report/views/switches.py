"""Context switches as a table of the page: in total, and by process (mackey2020)."""

from __future__ import annotations

import polars as pl

from culvert.analysis.cpu import most_switches
from culvert.analysis.observations import CELL, pick
from culvert.report.model import Data, FigureTable
from culvert.report.numbers import grouped


def switches_table(data: Data) -> FigureTable:
    """One row per cell; medians over its trials."""
    listed = most_switches(data.rows, most=5)
    columns = ("VPN", "Cell", "switches in total", "processes with the most")
    if listed.is_empty():
        return FigureTable(columns, "llrl", ())
    totals = pick(data.summary, "context_switches_total")
    rows = []
    for row in totals.sort(CELL).iter_rows(named=True):
        here = listed.filter(*(pl.col(key) == row[key] for key in CELL))
        rows.append(
            (
                row["vpn"],
                data.labels.cell(row["condition"], row["measurement"], row["parameters"]),
                grouped(row["median"], 0),
                ", ".join(
                    f"{name} {grouped(count, 0)}"
                    for name, count in here.select("process", "switches").iter_rows()
                ),
            )
        )
    return FigureTable(columns, "llrl", tuple(rows))
