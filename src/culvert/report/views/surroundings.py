"""Cells with trials that were marked for their surroundings: figures with and without these."""

from __future__ import annotations

import polars as pl

from culvert.analysis.declared import main_metrics, title_of
from culvert.analysis.observations import CELL
from culvert.journal.marks import Disturber, disturbers
from culvert.report.leaves import evidence
from culvert.report.model import Data, FigureTable
from culvert.report.numbers import scale_for

_COLUMNS = ("VPN", "Cell", "Metric", "all trials", "without marked", "marked", "for")
_NONE = "\u2013"


def surroundings_table(data: Data) -> FigureTable:
    """A row for the main metric of each such cell: medians, and how many trials they are of."""
    marks = _marked(data)
    mains = [{"measurement": kind, "metric": metric} for kind, metric in main_metrics().items()]
    schema = {"measurement": pl.String, "metric": pl.String}
    found = data.observed.filter(pl.col("labels") == "{}").join(
        pl.DataFrame(mains, schema=schema), on=["measurement", "metric"]
    )
    rows = []
    for _, cell in found.group_by([*CELL, "metric"], maintain_order=True):
        by = {trial: marks[trial] for trial in cell["trial"].to_list() if trial in marks}
        if by:
            rows.append(_row(data, cell, by))
    return FigureTable(_COLUMNS, "lllrrrl", tuple(rows))


def _marked(data: Data) -> dict[int, frozenset[Disturber]]:
    """What each marked trial is marked for."""
    found = {
        int(trial): disturbers(evidence(text))
        for trial, text in data.trials.select("trial", "evidence").iter_rows()
    }
    return {trial: by for trial, by in found.items() if by}


def _row(data: Data, cell: pl.DataFrame, by: dict[int, frozenset[Disturber]]) -> tuple[str, ...]:
    one = cell.row(0, named=True)
    quiet = cell.filter(~pl.col("trial").is_in(list(by)))
    names = sorted({str(disturber) for marked in by.values() for disturber in marked})
    return (
        one["vpn"],
        data.labels.cell(one["condition"], one["measurement"], one["parameters"]),
        title_of(one["metric"], one["measurement"]) or one["metric"],
        _median(cell, one["unit"]),
        _median(quiet, one["unit"]),
        f"{len(by)} of {cell.height}",
        ", ".join(names),
    )


def _median(cell: pl.DataFrame, unit: str) -> str:
    value = cell["value"].median()
    if not isinstance(value, int | float):
        return _NONE
    return f"{scale_for(unit, [value]).text(value, None, None)} (n = {cell.height})"
