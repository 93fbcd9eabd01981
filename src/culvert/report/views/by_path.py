"""Cells that lost a host: figures path by path, where a median over all paths is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator

import polars as pl

from culvert.analysis.declared import main_metrics, title_of
from culvert.analysis.observations import CELL
from culvert.journal.marks import MISSING_PATHS, PART, PATH, paths_of
from culvert.json_text import read_json
from culvert.report.leaves import evidence
from culvert.report.model import Data, FigureTable
from culvert.report.numbers import scale_for

_COLUMNS = ("VPN", "Cell", "Metric", "path", "median", "blocks", "missing in")
_ALL = "all paths"
_NONE = "\u2013"


def by_path_table(data: Data) -> FigureTable:
    """A row for each path of such a cell, and one for all of its paths: the median of the main
    metric, the number of blocks that it is of, and those in which it is missing."""
    named = _named_paths(data)
    mains = main_metrics()
    rows = []
    for cell, missing in named.items():
        metric = mains.get(cell[2])
        if metric is not None:
            rows += list(_rows(data, cell, metric, missing))
    return FigureTable(_COLUMNS, "llllrrr", tuple(rows))


def _named_paths(data: Data) -> dict[tuple[str, ...], set[str]]:
    """Cells of which a trial lost a host, with the paths that their trials name."""
    found: dict[tuple[str, ...], set[str]] = {}
    for *cell, text in data.trials.select(*CELL, "evidence").iter_rows():
        of_trial = evidence(text)
        if paths := {*paths_of(of_trial, PART), *paths_of(of_trial, MISSING_PATHS)}:
            found.setdefault(tuple(cell), set()).update(paths)
    return found


def _rows(
    data: Data, cell: tuple[str, ...], metric: str, named: set[str]
) -> Iterator[tuple[str, ...]]:
    same = dict(zip(CELL, cell, strict=True))
    values = data.observed.filter(metric=metric, **same)
    if values.is_empty():
        return
    blocks = data.trials.filter(**same)["block"].n_unique()
    vpn, condition, measurement, parameters = cell
    shown = (
        vpn,
        data.labels.cell(condition, measurement, parameters),
        title_of(metric, measurement),
    )
    known = {path: json.dumps({PATH: path}, separators=(",", ":")) for path in named}
    for labels in values["labels"].unique().to_list():
        given = read_json(labels)
        if given.keys() == {PATH}:
            known[str(given[PATH])] = labels
    for path, labels in [*sorted(known.items()), (_ALL, "{}")]:
        ours = values.filter(labels=labels)
        count = ours["block"].n_unique()
        yield (*shown, path, _median(ours), str(count), str(blocks - count))


def _median(values: pl.DataFrame) -> str:
    value = values["value"].median()
    if not isinstance(value, int | float):
        return _NONE
    return scale_for(values["unit"][0], [value]).text(value, None, None)
