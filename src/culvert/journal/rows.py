"""From records to rows in the tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from culvert.journal.codec import json_text, pack_float64, pack_int64, utc_text
from culvert.journal.record import InstallRecord, RunHead, TrialRecord
from culvert.journal.schema import CHECKSUM_VERSION, CHILDREN, COLUMNS, CONTENT

Row = tuple[Any, ...]


def run_row(head: RunHead, started_at: str) -> Row:
    """The content of ``run``."""
    return (*_row("run", CONTENT["run"][:-1], head), started_at)


def install_row(install: InstallRecord) -> Row:
    """The content of ``install``."""
    return _row("install", CONTENT["install"], install)


def trial_row(trial: TrialRecord, session: int) -> Row:
    """The content of ``trial``."""
    return (session, *_row("trial", CONTENT["trial"][1:], trial))


def _row(table: str, columns: Sequence[str], record: object) -> Row:
    """The fields of a record that are named as the columns, in the columns' types."""
    return tuple(_stored(getattr(record, name), COLUMNS[table][name]) for name in columns)


def _stored(value: Any, kind: str) -> int | float | str:
    match kind:
        case "INTEGER":
            return int(value)
        case "REAL":
            return float(value)
    if isinstance(value, datetime):
        return utc_text(value)
    return _text(value) if isinstance(value, str) else json_text(value)


def child_rows(trial: TrialRecord) -> dict[str, list[Row]]:
    """Rows of metric, series and histogram, without the trial's id."""
    return {
        "metric": [
            (_text(one.name), _text(one.unit), float(one.value), json_text(one.labels))
            for one in trial.metrics
        ],
        "series": [
            (
                _text(one.name),
                _text(one.unit),
                json_text(one.labels),
                pack_int64(one.t_ns),
                pack_float64(one.values),
            )
            for one in trial.series
        ],
        "histogram": [
            (_text(one.name), _text(one.unit), json_text(one.labels), _text(one.hdr_v2))
            for one in trial.histograms
        ],
    }


def _text(text: str) -> str:
    """Text that UTF-8 can encode; another program's log may have lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")


def insert_row(sql: sqlite3.Connection, table: str, row: Row) -> int:
    """Insert a row of run, session, ending, install or trial; return its number."""
    columns = CONTENT[table]
    if sql.execute("PRAGMA user_version").fetchone() == (CHECKSUM_VERSION,):
        columns, row = (*columns, "checksum"), (*row, "")
    number = sql.execute(_statement(table, columns), row).lastrowid
    assert number is not None  # an INSERT gives a row id
    return number


def insert_trial(sql: sqlite3.Connection, row: Row, children: Mapping[str, list[Row]]) -> int:
    """Insert a trial and its rows of other tables (CHILDREN); return its id."""
    number = insert_row(sql, "trial", row)
    for table, columns in CHILDREN.items():
        sql.executemany(
            _statement(table, ("trial_id", *columns)),
            ((number, *child) for child in children[table]),
        )
    return number


def _statement(table: str, columns: Sequence[str]) -> str:
    marks = ", ".join("?" for _ in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - constants
