"""Tables A1 and A2 as the paper has them: mean, deviation, and times slower than the baselines."""

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
    paper_name,
)
from culvert.statistics.location import describe


def table(cells: Mapping[Key, PaperCell], protocol: str) -> pl.DataFrame:
    """A1 (tcp) or A2 (udp): 42 rows where the data is whole, in the paper's order.

    Columns: test, condition, runs, dropped, mean and sd (Mbit/s; sd with n - 1), cv, times_1450 and
    times_1230 (mean of that baseline over mean; null where it has no run).
    """
    found = []
    for name in CONFIGURATIONS[2:]:
        for condition in CONDITIONS:
            cell = cells.get((name, protocol, condition))
            if cell is None or not cell.values.size:
                continue
            told = describe(cell.values)
            found.append(
                {
                    "test": paper_name(name),
                    "condition": PAPER_CONDITIONS[condition],
                    "runs": told.n,
                    "dropped": cell.dropped,
                    "mean": told.mean,
                    "sd": told.sd,
                    "cv": told.cv,
                    "times_1450": _times(cells.get((BASE_1450, protocol, condition)), told.mean),
                    "times_1230": _times(cells.get((BASE_1230, protocol, condition)), told.mean),
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
