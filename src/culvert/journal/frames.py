"""From the tables to polars data frames, and the columns of these."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import polars as pl

from culvert.journal.codec import inflated, points
from culvert.journal.connection import corrupt
from culvert.journal.histogram import MOST_BYTES, decoded, unpacked

Schema = dict[str, type[pl.DataType] | pl.DataType]

ROWS_SCHEMA: Schema = {
    "study": pl.String,
    "block": pl.Int64,
    "trial": pl.Int64,
    "vpn": pl.String,
    "version": pl.String,
    "condition": pl.String,
    "measurement": pl.String,
    "parameters": pl.String,
    "metric": pl.String,
    "labels": pl.String,
    "unit": pl.String,
    "value": pl.Float64,
    "status": pl.String,
    "reason": pl.String,
}
"""One row per metric of each trial, imports included. A trial without metrics has one row, its
metric, unit and value null."""

TRIALS_SCHEMA: Schema = {
    "study": pl.String,
    "trial": pl.Int64,
    "session": pl.Int64,
    "block": pl.Int64,
    "position": pl.Int64,
    "cell": pl.String,
    "vpn": pl.String,
    "version": pl.String,
    "condition": pl.String,
    "measurement": pl.String,
    "parameters": pl.String,
    "status": pl.String,
    "reason": pl.String,
    "remedy": pl.String,
    "started_at": pl.String,
    "duration_s": pl.Float64,
    "measuring_s": pl.Float64,
    "evidence": pl.String,
}
HISTOGRAMS_SCHEMA: Schema = {
    "trial": pl.Int64,
    "name": pl.String,
    "unit": pl.String,
    "labels": pl.String,
    "hdr_v2": pl.String,
}
SERIES_SCHEMA: Schema = {
    "trial": pl.Int64,
    "name": pl.String,
    "unit": pl.String,
    "labels": pl.String,
    "t_ns": pl.List(pl.Int64),
    "value": pl.List(pl.Float64),
}


_STORED = {
    "study": "(SELECT study FROM run)",
    "trial": "id",
    "session": "session_id",
    "cell": "cell_key",
}
"""What a table has in the place of a column."""
_CHUNK = 10_000
"""Rows converted at a time: a long run has millions of them."""

_LEAST_ROOM = 64 << 20
_MOST_EXPANSION = 16

_METRICS: Schema = {
    "trial": pl.Int64,
    "metric": pl.String,
    "labels": pl.String,
    "unit": pl.String,
    "value": pl.Float64,
}


def trials(sql: sqlite3.Connection, *, checks_until: int | None = None) -> pl.DataFrame:
    """One row per trial. The evidence of trials that are ok and later than ``checks_until`` is
    without its checks, which are most of a journal; the remainder is the same in many trials."""
    kept = "evidence"
    if checks_until is not None:
        kept = (
            f"CASE WHEN status != 'ok' OR id <= {int(checks_until)} OR NOT json_valid(evidence) "
            "THEN evidence ELSE json_remove(evidence, '$.checks') END"
        )
    columns = (kept if name == "evidence" else _STORED.get(name, name) for name in TRIALS_SCHEMA)
    # Constants and an integer of ours, no external text.
    query = f"SELECT {', '.join(columns)} FROM trial ORDER BY id"  # noqa: S608
    return _frame(sql, query, TRIALS_SCHEMA)


def rows(sql: sqlite3.Connection) -> pl.DataFrame:
    """One row per metric of each trial outside warm-up blocks."""
    schema = {name: TRIALS_SCHEMA[name] for name in ROWS_SCHEMA if name in TRIALS_SCHEMA}
    columns = ", ".join(_STORED.get(name, name) for name in schema)
    counted = _frame(sql, f"SELECT {columns} FROM trial WHERE block > 0 ORDER BY id", schema)  # noqa: S608 - constants
    metrics = _frame(
        sql, "SELECT trial_id, metric, labels, unit, value FROM metric ORDER BY id", _METRICS
    )
    joined = counted.join(metrics, on="trial", how="left", maintain_order="left_right")
    return joined.with_columns(pl.col("labels").fill_null("{}")).select(list(ROWS_SCHEMA))


def histograms(sql: sqlite3.Connection, path: Path) -> pl.DataFrame:
    """One row per histogram. Raises JournalError for one that cannot be decoded."""
    found = _frame(
        sql,
        "SELECT trial_id, name, unit, labels, hdr_v2 FROM histogram ORDER BY id",
        HISTOGRAMS_SCHEMA,
    )
    left = _room(path)
    for trial, name, hdr_v2 in found.select("trial", "name", "hdr_v2").iter_rows():
        try:
            content = unpacked(hdr_v2, min(left, MOST_BYTES))
            decoded(content)
        except ValueError as error:
            raise corrupt(path, f"histogram {name} of trial {trial}: {error}") from error
        left -= len(content)
    return found


def series(sql: sqlite3.Connection, path: Path) -> pl.DataFrame:
    """One row per series; ``explode("t_ns", "value")`` gives one row per point. Raises JournalError
    for one that cannot be unpacked."""
    found: dict[str, list[Any]] = {name: [] for name in SERIES_SCHEMA}
    left = _room(path)
    for trial, name, unit, labels, *packed in sql.execute(
        "SELECT trial_id, name, unit, labels, t_ns, value FROM series ORDER BY id"
    ):
        try:
            times, values = (inflated(blob, left // 2) for blob in packed)
            row = (trial, name, unit, labels, *points(times, values))
        except ValueError as error:
            raise corrupt(path, f"series {name} of trial {trial}: {error}") from error
        left -= len(times) + len(values)
        for column, item in zip(found.values(), row, strict=True):
            column.append(item)
    return pl.DataFrame(found, schema=SERIES_SCHEMA)


def _room(path: Path) -> int:
    """To how many bytes all series, or all histograms, may unpack: measured ones compress less."""
    return _LEAST_ROOM + _MOST_EXPANSION * path.stat().st_size


def _frame(sql: sqlite3.Connection, query: str, schema: Schema) -> pl.DataFrame:
    cursor = sql.cursor()
    cursor.execute(query)
    # Texts repeat from row to row: as categories each is stored once, also after the cast back to
    # strings.
    shared = pl.col([name for name, kind in schema.items() if kind is pl.String])
    parts = [pl.DataFrame(schema=schema).with_columns(shared.cast(pl.Categorical))]
    while chunk := cursor.fetchmany(_CHUNK):
        part = pl.DataFrame(chunk, schema=schema, orient="row")
        parts.append(part.with_columns(shared.cast(pl.Categorical)))
    return pl.concat(parts).with_columns(shared.cast(pl.String))
