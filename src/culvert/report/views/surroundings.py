"""Cells with trials that were marked for their surroundings: figures with and without these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import polars as pl

from culvert.analysis.declared import headline_metrics, title_of
from culvert.analysis.observations import CELL, METRIC
from culvert.analysis.summary import summarise_observed
from culvert.journal.marks import Disturber
from culvert.report.model import Data, FigureTable
from culvert.report.numbers import Scale, percent, scale_for

_COLUMNS = ("VPN", "Cell", "Metric", "all trials", "without marked", "marked", "for")
_NONE = "\u2013"
_KEYS = [*CELL, *METRIC]


def surroundings_table(data: Data, *, compared: bool = False) -> FigureTable:
    """A row for each of ``headline_metrics`` in each such cell: medians with their intervals, as in
    the headline, and how many trials they are of. ``compared``: only of cells that have trials
    without a mark too."""
    shown = pl.DataFrame(
        sorted(headline_metrics()),
        schema={"measurement": pl.String, "metric": pl.String},
        orient="row",
    )
    of_cells = data.observed.filter(pl.col("labels") == "{}").join(
        shown, on=["measurement", "metric"]
    )
    marked = pl.col("trial").is_in(list(data.marks))
    disturbed = of_cells.filter(marked).group_by(_KEYS, maintain_order=True).agg("trial")
    quiet = of_cells.filter(~marked).join(disturbed, on=_KEYS, how="semi")
    without = _by_key(summarise_observed(quiet, looks=data.columns.design.looks))
    every = _by_key(data.summary)
    rows = []
    for *key, trials in disturbed.iter_rows():
        place = tuple(key)
        if compared and place not in without:
            continue
        by = [frozenset(mark.by for mark in data.marks[trial]) for trial in trials]
        rows.append(_row(data, every[place], without.get(place), by))
    return FigureTable(_COLUMNS, "lllrrrl", tuple(rows))


def disturbance(data: Data) -> str:
    """How many of the trials that count were disturbed, by what, and how much at most; empty if
    none was."""
    if not data.marks:
        return ""
    values: dict[Disturber, list[float]] = {}
    for mark in chain.from_iterable(data.marks.values()):
        values.setdefault(mark.by, []).append(mark.value)
    causes = [
        f"{cause(by, max(found))} (in {len(found)})"
        for by, found in sorted(values.items(), key=lambda item: -len(item[1]))
    ]
    return f"{len(data.marks)} of {data.counts.ok} trials were disturbed: {', '.join(causes)}"


def cause(by: Disturber, most: float) -> str:
    """A kind of mark and its largest value, in words."""
    return _CAUSES[by](most)


_CAUSES: Mapping[Disturber, Callable[[float], str]] = {
    Disturber.FOREIGN: lambda most: f"other processes used up to {percent(most)} of the CPU time",
    Disturber.STEAL: lambda most: f"the hypervisor took up to {percent(most)} of the CPU time",
    Disturber.CLOCK: lambda most: f"the clock was set by up to {most:.3g} ns",
    Disturber.QUOTA: lambda most: f"a CPU quota took up to {percent(most)} of the CPU time",
    Disturber.HEAT: lambda most: f"a CPU was throttled up to {most:.0f} times",
    Disturber.RUN: lambda most: f"other runs of Culvert, up to {most:.0f} at once",
}
"""By kind of mark: the largest value, in words."""


def _by_key(summary: pl.DataFrame) -> dict[tuple[str, ...], dict[str, Any]]:
    return {tuple(row[key] for key in _KEYS): row for row in summary.iter_rows(named=True)}


def _row(
    data: Data,
    every: Mapping[str, Any],
    without: Mapping[str, Any] | None,
    by: Sequence[frozenset[Disturber]],
) -> tuple[str, ...]:
    names = sorted({str(disturber) for marked in by for disturber in marked})
    medians = [one["median"] for one in (every, without) if one is not None]
    scale = scale_for(every["unit"], medians)
    return (
        every["vpn"],
        data.labels.cell(every["condition"], every["measurement"], every["parameters"]),
        title_of(every["metric"], every["measurement"]),
        _figure(every, scale),
        _NONE if without is None else _figure(without, scale),
        f"{len(by)} of {every['n']}",
        ", ".join(names),
    )


def _figure(summary: Mapping[str, Any], scale: Scale) -> str:
    figure = scale.with_unit_and_interval(summary["median"], summary["low"], summary["high"])
    return f"{figure} (n = {summary['n']})"
