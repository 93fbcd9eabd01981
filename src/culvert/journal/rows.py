"""From records to rows in the tables, each with a checksum that is equal when written and read."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from culvert.journal.codec import json_text, pack_float64, pack_int64, utc_text
from culvert.journal.record import InstallRecord, RunHead, TrialRecord
from culvert.journal.schema import CHILDREN, COLUMNS, CONTENT

Row = tuple[Any, ...]


def checksum(row: Row, children: Sequence[list[Row]] = ()) -> str:
    """BLAKE2b, 128 bits, over a row and its child rows, table by table.

    Values are None, int, float, str and bytes.
    """
    # repr preserves types, every bit of a float, and the limits of rows and tables. It is also the
    # fastest way: a long run has millions of rows, and all are checked when a journal is opened.
    content = repr((row, *children)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=16).hexdigest()


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
            return _real(value)
    if isinstance(value, datetime):
        return utc_text(value)
    return _text(value) if isinstance(value, str) else json_text(value)


def child_rows(trial: TrialRecord) -> dict[str, list[Row]]:
    """Rows of metric, series and histogram, without the trial's id."""
    return {
        "metric": [
            (_text(one.name), _text(one.unit), _real(one.value), json_text(one.labels))
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


def _real(value: float) -> float:
    """SQLite stores -0.0 as 0.0, so the checksum must cover 0.0."""
    return float(value) + 0.0


def _text(text: str) -> str:
    """Text that UTF-8 can encode; another program's log may have lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")


def insert_row(sql: sqlite3.Connection, table: str, row: Row) -> int:
    """Insert a row of run, session, ending or install; return its number."""
    return _insert(sql, table, CONTENT[table], row, checksum(row))


def insert_trial(sql: sqlite3.Connection, row: Row, children: Mapping[str, list[Row]]) -> int:
    """Insert a trial and its rows of other tables (CHILDREN); return its id."""
    digest = checksum(row, [children[table] for table in CHILDREN])
    number = _insert(sql, "trial", CONTENT["trial"], row, digest)
    for table, columns in CHILDREN.items():
        sql.executemany(
            _statement(table, ("trial_id", *columns)),
            ((number, *child) for child in children[table]),
        )
    return number


def _insert(
    sql: sqlite3.Connection, table: str, columns: Sequence[str], row: Row, digest: str
) -> int:
    number = sql.execute(_statement(table, (*columns, "checksum")), (*row, digest)).lastrowid
    assert number is not None  # an INSERT gives a row id
    return number


def _statement(table: str, columns: Sequence[str]) -> str:
    marks = ", ".join("?" for _ in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - constants
