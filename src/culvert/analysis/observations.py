"""From the journal's rows to observations: one value per trial, of trials that count.

A trial is the unit of replication. Repetitions inside a trial (the cycles of an initiation) are not
independent, so they are first reduced to the trial's median.
"""

from __future__ import annotations

import json

import polars as pl

from culvert.json_text import read_json

CONTEXT = ("condition", "measurement", "parameters")
"""The key of a cell without its VPN; a cell and its baseline have the same."""

CELL = ("vpn", *CONTEXT)
METRIC = ("metric", "labels", "unit")

REPEAT_LABELS = frozenset({"cycle"})
"""Labels that number repetitions inside one trial."""

PER_THREAD = frozenset({"cpu_thread_s", "cpu_kernel_thread_s"})
"""Metrics whose labels name threads by an id that no other trial has: not to be summarised."""


def repeats(rows: pl.DataFrame) -> pl.DataFrame:
    """Every value of every ok trial, with the labels that number repetitions removed.

    Columns: CELL, METRIC, block, trial, value.
    """
    wanted = [*CELL, *METRIC, "block", "trial"]
    counted = rows.filter(pl.col("metric").is_not_null(), status="ok")
    labels = counted["labels"].unique().to_list()
    plain = pl.DataFrame(
        {"labels": labels, "plain": [_without_repeats(text) for text in labels]},
        schema={"labels": pl.String, "plain": pl.String},
    )
    return (
        counted.join(plain, on="labels", how="left")
        .with_columns(labels=pl.col("plain"))
        .select(*wanted, "value")
    )


def observations(rows: pl.DataFrame) -> pl.DataFrame:
    """One value per ok trial, metric and labels, but PER_THREAD. Columns as in ``repeats``,
    sorted."""
    keys = [*CELL, *METRIC, "block", "trial"]
    found = repeats(rows).filter(~pl.col("metric").is_in(list(PER_THREAD)))
    single = found.group_by(keys).agg(pl.col("value").median())
    # Sorting few cells by text and many trials by number is ten times faster.
    cells = single.select(*CELL, *METRIC).unique().sort(*CELL, *METRIC).with_row_index("place")
    return (
        single.join(cells, on=[*CELL, *METRIC], how="left")
        .sort("place", "block", "trial")
        .drop("place")
    )


def pick(
    frame: pl.DataFrame,
    metric: str,
    *,
    measurement: str | None = None,
    condition: str | None = None,
    parameters: str | None = None,
) -> pl.DataFrame:
    """The rows of one metric without labels, perhaps only of one measurement, condition, cell."""
    wanted = {"measurement": measurement, "condition": condition, "parameters": parameters}
    return frame.filter(
        metric=metric,
        labels="{}",
        **{name: value for name, value in wanted.items() if value is not None},
    )


def _without_repeats(labels: str) -> str:
    kept = {key: value for key, value in read_json(labels).items() if key not in REPEAT_LABELS}
    return json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
