"""Measurements without their own figures: bars of their main metrics, and a table of all."""

from __future__ import annotations

import polars as pl

from culvert.analysis.declared import drawn_metrics, title_of
from culvert.files.names import slug
from culvert.metrics import EVERY_TRIAL
from culvert.report.charts.cell import NOTHING, Cell
from culvert.report.charts.common import bars_with_trials
from culvert.report.model import Data, Figure, FigureTable
from culvert.report.numbers import scale_for
from culvert.report.views.leaks import MEASUREMENT as LEAK
from culvert.report.views.nat_matrix import MEASUREMENT, pairs_of

DRAWN = frozenset({"tcp", "udp", "rtt", "initiation", "gateway_load"})
"""Measurements with their own figures."""
_EVERY_TRIAL = frozenset(spec.name for spec in EVERY_TRIAL)


def other_figures(data: Data, condition: str) -> list[Figure]:
    """One figure per cell of every other measurement with trials that count, except for leaks and
    pairs of NATs, which have matrices."""
    here = data.summary.filter(pl.col("condition") == condition, pl.col("labels") == "{}")
    in_matrices = {LEAK, *({MEASUREMENT} if condition in pairs_of(data) else ())}
    kinds = sorted(set(here["measurement"].to_list()) - DRAWN - in_matrices)
    found = []
    for kind in kinds:
        for cell in Cell.all(data, here, kind, condition):
            metrics = _metrics(cell, cell.rows(here))
            if metrics:
                found.append(_figure(cell, metrics))
    return found


def _metrics(cell: Cell, summary: pl.DataFrame) -> list[str]:
    """The measurement's own metrics in the order in which they were recorded."""
    recorded = cell.data.rows.filter(
        measurement=cell.measurement, parameters=cell.parameters, labels="{}"
    )["metric"].unique(maintain_order=True)
    present = set(summary["metric"].to_list())
    return [name for name in recorded if name in present and name not in _EVERY_TRIAL]


def _figure(cell: Cell, metrics: list[str]) -> Figure:
    data, kind = cell.data, cell.measurement
    leading = [metric for metric in drawn_metrics(kind) if metric in metrics] or metrics[:1]
    panels = []
    for metric in leading:
        summary = cell.summary(metric)
        scale = scale_for(summary["unit"][0], summary["median"].to_list())
        trials = cell.observed(metric)
        words = title_of(metric, kind)
        panels.append(bars_with_trials(data, summary, trials, scale, words, scale.name))
    drawn = ", ".join(title_of(metric, kind) for metric in leading)
    rows = tuple((title_of(metric, kind), *_row(cell, metric)) for metric in metrics)
    return Figure(
        name=slug(f"{kind} {cell.condition} {cell.name}"),
        title=cell.name,
        caption=(
            "Bars are medians, whiskers 95 % intervals, rings single trials from the first block "
            f"(top) to the last (bottom). Parameters: {cell.everything}."
        ),
        alt_text=f"Bar chart of {drawn} for each VPN.",
        panels=tuple(panels),
        table=FigureTable(("median [95 %]", *data.vpns), "l" + "r" * len(data.vpns), rows),
    )


def _row(cell: Cell, metric: str) -> list[str]:
    found = cell.summary(metric)
    scale = scale_for(found["unit"][0], found["median"].to_list())
    texts = {
        row["vpn"]: scale.with_unit_and_interval(row["median"], row["low"], row["high"])
        for row in found.iter_rows(named=True)
    }
    return [texts.get(vpn, NOTHING) for vpn in cell.data.vpns]
