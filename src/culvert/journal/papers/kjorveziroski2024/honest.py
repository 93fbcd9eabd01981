"""Missing in tables A1, A2 and the paper's tests: intervals, order in time, multiple testing.

The runs of a configuration were made one after another, each configuration on its own days. So the
intervals here cover the scatter within these hours, not the scatter between days.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import polars as pl

from culvert.journal.papers.kjorveziroski2024.order import CONFIGURATIONS
from culvert.journal.papers.kjorveziroski2024.runs import (
    BASE_1230,
    BASE_1450,
    CONDITIONS,
    Key,
    PaperCell,
)
from culvert.statistics.effects import hodges_lehmann
from culvert.statistics.holm import holm
from culvert.statistics.mann_whitney import mann_whitney
from culvert.statistics.ratio import ratio_of_medians
from culvert.statistics.serial import effective_sample_size, lag1, lag1_p_value
from culvert.statistics.trend import mann_kendall
from culvert.statistics.values import describe

ALPHA = 0.05


def table(cells: Mapping[Key, PaperCell], protocol: str) -> pl.DataFrame:
    """In addition to A1 (tcp) or A2 (udp): one row per cell, baselines included.

    Columns: name, condition, runs, dropped, median and mean (Mbit/s), lag1 (of neighbours in time),
    lag1_p, effective_n (effective sample size), drift_p (Mann-Kendall), both p values also
    adjusted by Holm's method, for each baseline its median over the cell's with low and high (95 %,
    correlation taken into account), and a note: why the cell is not precise.
    """
    found = []
    for name in CONFIGURATIONS:
        for condition in CONDITIONS:
            cell = cells.get((name, protocol, condition))
            if cell is None or not cell.values.size:
                continue
            summary, trend = describe(cell.values), mann_kendall(cell.values)
            row: dict[str, object] = {
                "name": name,
                "condition": condition,
                "runs": summary.n,
                "dropped": cell.dropped,
                "median": summary.median,
                "mean": summary.mean,
                "lag1": lag1(cell.values),
                "lag1_p": lag1_p_value(cell.values),
                "effective_n": effective_sample_size(cell.values),
                "drift_p": trend.p_value,
            }
            for base, mtu in ((BASE_1450, "1450"), (BASE_1230, "1230")):
                row |= _against(cells.get((base, protocol, condition)), cell, mtu)
            found.append(row)
    return _noted(pl.DataFrame(found, infer_schema_length=None))


def _against(base: PaperCell | None, cell: PaperCell, mtu: str) -> dict[str, object]:
    names = (f"times_{mtu}", f"times_{mtu}_low", f"times_{mtu}_high")
    if base is None or base is cell or not base.values.size:
        return dict.fromkeys(names)
    ratio = describe(base.values).median / describe(cell.values).median
    interval = ratio_of_medians(base.values, cell.values)
    return dict(zip(names, (ratio, interval.low, interval.high), strict=True))


def _noted(frame: pl.DataFrame) -> pl.DataFrame:
    """With p values adjusted for having looked at every cell, and the notes that follow."""
    if frame.is_empty():
        return frame
    return _adjusted(_adjusted(frame, "lag1_p"), "drift_p").with_columns(
        pl.concat_str(
            pl.when(pl.col("lag1_p_holm") < ALPHA).then(pl.lit("runs depend on the one before")),
            pl.when(pl.col("drift_p_holm") < ALPHA).then(pl.lit("drifts")),
            separator=", ",
            ignore_nulls=True,
        ).alias("note")
    )


def _adjusted(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Add Holm's adjustment to a column of p values; a cell without spread has p 1."""
    adjusted = pl.Series(f"{column}_holm", holm(frame[column].fill_null(1.0).to_list()))
    return frame.insert_column(frame.get_column_index(column) + 1, adjusted)


def tests(cells: Mapping[Key, PaperCell]) -> pl.DataFrame:
    """The paper's Mann-Whitney tests, every pair without impairment, with effect sizes.

    Columns: protocol, a, b, runs_a, runs_b, p (as published), p_holm (adjusted for all pairs
    of both protocols), cliffs_delta, shift and its 95 % interval (Mbit/s, a over b), and ratio of
    the medians with an interval that takes correlation into account.
    """
    found = list(_pairs(cells))
    frame = pl.DataFrame(found, infer_schema_length=None)
    return frame if frame.is_empty() else _adjusted(frame, "p")


def _pairs(cells: Mapping[Key, PaperCell]) -> Iterator[dict[str, object]]:
    for protocol in ("tcp", "udp"):
        for a, b in combinations(CONFIGURATIONS, 2):
            first, second = (cells.get((name, protocol, "clean")) for name in (a, b))
            if not first or not second or not first.values.size or not second.values.size:
                continue
            x, y = first.values, second.values
            test, shift = mann_whitney(x, y), hodges_lehmann(x, y)
            interval = ratio_of_medians(x, y)
            yield {
                "protocol": protocol,
                "a": a,
                "b": b,
                "runs_a": x.size,
                "runs_b": y.size,
                "p": test.p_value,
                "cliffs_delta": test.cliffs_delta,
                "shift": shift.value,
                "shift_low": shift.low,
                "shift_high": shift.high,
                "ratio": describe(x).median / describe(y).median,
                "ratio_low": interval.low,
                "ratio_high": interval.high,
            }
