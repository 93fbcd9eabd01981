"""From the tables to polars data frames."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import polars as pl

from culvert.journal.codec import unpack_float64, unpack_int64
from culvert.journal.columns import ROWS_SCHEMA

_CHUNK = 10_000
"""Rows that are Python objects at a time: a long run has millions of them."""

_TRIALS: dict[str, Any] = {
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
_METRICS: dict[str, Any] = {
    "trial": pl.Int64,
    "metric": pl.String,
    "labels": pl.String,
    "unit": pl.String,
    "value": pl.Float64,
}
_HISTOGRAMS: dict[str, Any] = {
    "trial": pl.Int64,
    "name": pl.String,
    "unit": pl.String,
    "labels": pl.String,
    "hdr_v2": pl.String,
}
_SERIES: dict[str, Any] = {
    "trial": pl.Int64,
    "name": pl.String,
    "unit": pl.String,
    "labels": pl.String,
    "t_ns": pl.List(pl.Int64),
    "value": pl.List(pl.Float64),
}


def trials(sql: sqlite3.Connection, *, checks_until: int | None = None) -> pl.DataFrame:
    """One row a trial. Trials that are ok and later than ``checks_until`` come without the checks
    of their evidence, which are most of a journal; what is left is alike in many trials."""
    kept = "evidence"
    if checks_until is not None:
        kept = (
            f"CASE WHEN status != 'ok' OR id <= {int(checks_until)} OR NOT json_valid(evidence) "
            "THEN evidence ELSE json_remove(evidence, '$.checks') END"
        )
    query = (
        # A number of ours, and no word of anybody else.
        "SELECT (SELECT study FROM run), id, session_id, block, position, cell_key, "  # noqa: S608
        "vpn, version, "
        "condition, measurement, parameters, status, reason, remedy, started_at, duration_s, "
        f"measuring_s, {kept} FROM trial ORDER BY id"
    )
    return _frame(sql, query, _TRIALS)


def rows(sql: sqlite3.Connection) -> pl.DataFrame:
    """One row per metric of each trial that is not of a warm-up block."""
    counted = _frame(
        sql,
        "SELECT (SELECT study FROM run), block, id, vpn, version, condition, measurement, "
        "parameters, status, reason FROM trial WHERE block > 0 ORDER BY id",
        {name: _TRIALS[name] for name in ROWS_SCHEMA if name in _TRIALS},
    )
    metrics = _frame(
        sql, "SELECT trial_id, metric, labels, unit, value FROM metric ORDER BY id", _METRICS
    )
    joined = counted.join(metrics, on="trial", how="left", maintain_order="left_right")
    return joined.with_columns(pl.col("labels").fill_null("{}")).select(list(ROWS_SCHEMA))


def histograms(sql: sqlite3.Connection) -> pl.DataFrame:
    """One row a histogram."""
    return _frame(
        sql, "SELECT trial_id, name, unit, labels, hdr_v2 FROM histogram ORDER BY id", _HISTOGRAMS
    )


def series(sql: sqlite3.Connection) -> pl.DataFrame:
    """One row a series; ``explode("t_ns", "value")`` gives one row a point."""
    found: dict[str, list[Any]] = {name: [] for name in _SERIES}
    for trial, name, unit, labels, t_ns, value in sql.execute(
        "SELECT trial_id, name, unit, labels, t_ns, value FROM series ORDER BY id"
    ):
        for column, item in zip(
            found.values(),
            (trial, name, unit, labels, unpack_int64(t_ns), unpack_float64(value)),
            strict=True,
        ):
            column.append(item)
    return pl.DataFrame(found, schema=_SERIES)


def data_paths(sql: sqlite3.Connection) -> dict[str, str]:
    """The data path that the proof found, by VPN: of the first trial that is ok and was looked at.

    What is no evidence of ours has none.
    """
    found: dict[str, str] = {}
    query = (
        "SELECT t.vpn, c.value FROM trial t, json_each(t.evidence, '$.checks') c "
        "WHERE t.status = 'ok' AND json_valid(t.evidence) "
        "AND json_extract(c.value, '$.name') = 'data path' GROUP BY t.vpn"
    )
    for vpn, text in sql.execute(query):
        figures = json.loads(text).get("figures")
        paths = set(figures.values()) if isinstance(figures, dict) else set()
        if len(paths) == 1:
            found[vpn] = str(paths.pop())
    return found


def dicts(sql: sqlite3.Connection, table: str, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """All rows of a small table."""
    # Names of tables and columns are constants of the schema.
    cursor = sql.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY rowid")  # noqa: S608
    return [dict(zip(columns, row, strict=True)) for row in cursor]


def _frame(sql: sqlite3.Connection, query: str, schema: dict[str, Any]) -> pl.DataFrame:
    cursor = sql.cursor()
    cursor.execute(query)
    # Texts repeat from row to row: as categories each is kept once, and so it stays when they are
    # texts again.
    shared = pl.col([name for name, kind in schema.items() if kind is pl.String])
    parts = [pl.DataFrame(schema=schema).with_columns(shared.cast(pl.Categorical))]
    while chunk := cursor.fetchmany(_CHUNK):
        part = pl.DataFrame(chunk, schema=schema, orient="row")
        parts.append(part.with_columns(shared.cast(pl.Categorical)))
    return pl.concat(parts).with_columns(shared.cast(pl.String))
