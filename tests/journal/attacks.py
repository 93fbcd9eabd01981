"""Journals that somebody made to do harm: what Culvert never writes."""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from culvert.journal.codec import pack_float64
from culvert.journal.journal import FILE, Journal
from culvert.journal.schema import CHILDREN, CONTENT
from tests.journal.dummies import HEAD, trial

TRIALS = 8


def made(directory: Path) -> Path:
    """A journal as a run leaves it."""
    with Journal.create(directory, HEAD) as journal:
        for number in range(TRIALS):
            journal.record(trial(number))
        journal.finish("done")
    return directory


def execute(directory: Path, *statements: str) -> None:
    """Change the file as anybody can."""
    with closing(sqlite3.connect(directory / FILE, isolation_level=None)) as sql:
        _end_soon(sql)
        sql.execute("PRAGMA ignore_check_constraints = ON")
        sql.execute("PRAGMA foreign_keys = OFF")
        for statement in statements:
            sql.execute(statement)


def assign(directory: Path, table: str, column: str, value: Any, row: int = 1) -> None:
    """Put a value into a row."""
    with closing(sqlite3.connect(directory / FILE, isolation_level=None)) as sql:
        _end_soon(sql)
        sql.execute("PRAGMA ignore_check_constraints = ON")
        sql.execute("PRAGMA foreign_keys = OFF")
        sql.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, row))


def _end_soon(sql: sqlite3.Connection) -> None:
    """Of a file that was attacked before."""
    until = time.monotonic() + 5
    sql.set_progress_handler(lambda: time.monotonic() > until, 10_000)


_ENDLESS = (
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {} FROM n, n AS m"
)


def endless_view(table: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    """The table's place is taken by a view that never ends."""
    words = ", ".join(f"n.x AS {column}" for column in ("id", *columns))
    return (
        f"ALTER TABLE {table} RENAME TO old_{table}",
        f"CREATE VIEW {table} AS {_ENDLESS.format(words)}",
    )


SCHEMAS: Mapping[str, tuple[str, ...]] = {
    "an endless view as trial": endless_view("trial", CONTENT["trial"]),
    "an endless view as run": endless_view("run", CONTENT["run"]),
    "an endless view as metric": endless_view("metric", ("trial_id", *CHILDREN["metric"])),
    "a view beside": (f"CREATE VIEW more AS {_ENDLESS.format('n.x')}",),
    "a trigger that deletes": (
        "CREATE TRIGGER t AFTER INSERT ON session BEGIN DELETE FROM trial; END",
    ),
    "a trigger on metrics": (
        "CREATE TRIGGER t AFTER INSERT ON trial BEGIN UPDATE metric SET value = 0; END",
    ),
    "a table beside": ("CREATE TABLE more (x)",),
    "an index": ("CREATE INDEX i ON trial (vpn)",),
    "an index on an expression": ("CREATE INDEX i ON trial (length(evidence))",),
    "a table is missing": ("DROP TABLE install",),
    "a column more": ("ALTER TABLE trial ADD COLUMN more TEXT DEFAULT 'x'",),
    "a generated column": ("ALTER TABLE run ADD COLUMN g AS (zeroblob(1000000000)) VIRTUAL",),
    "a virtual table": ("CREATE VIRTUAL TABLE v USING fts5(x)",),
    "many tables": tuple(f"CREATE TABLE more{n} (x)" for n in range(300)),
    "statistics": ("ANALYZE",),
}
"""What the file has besides, or instead of, our tables."""

_INF, _DEEP = float("inf"), "[" * 5000 + "]" * 5000
VALUES: Mapping[str, tuple[str, str, Any]] = {
    "a text as value": ("metric", "value", "fast"),
    "a blob as value": ("metric", "value", b"fast"),
    "infinity as value": ("metric", "value", _INF),
    "minus infinity as value": ("metric", "value", -_INF),
    "a value beyond all units": ("metric", "value", 1e308),
    "a value below all units": ("metric", "value", -1.1e18),
    "a value that nothing can be divided by": ("metric", "value", 5e-324),
    "a duration beyond all units": ("trial", "duration_s", -1e308),
    "a series of infinity": ("series", "value", pack_float64([1.0, float("inf"), 2.0])),
    "a series of nothing": ("series", "value", pack_float64([1.0, float("nan"), 2.0])),
    "a series beyond all units": ("series", "value", pack_float64([1.0, -1e308, 2.0])),
    "no JSON as labels": ("metric", "labels", "node=a"),
    "an array as labels": ("metric", "labels", "[]"),
    "deep labels": ("metric", "labels", _DEEP),
    "labels with numbers": ("metric", "labels", '{"node":1}'),
    "labels with arrays": ("metric", "labels", '{"node":["a"]}'),
    "a blob as metric": ("metric", "metric", b"goodput_bps"),
    "a broken blob": ("series", "t_ns", b"no zlib"),
    "a text as blob": ("series", "value", "x"),
    "half a number": ("series", "value", bytes.fromhex("789c636060000000030001")),
    "fewer values than times": ("series", "value", bytes.fromhex("789c030000000001")),
    "a series that is a bomb": ("series", "t_ns", "BOMB"),
    "a blob as histogram": ("histogram", "hdr_v2", b"x"),
    "a histogram that is none": ("histogram", "hdr_v2", "HISTFAAAA0"),
    "deep evidence": ("trial", "evidence", '{"a":' + _DEEP + "}"),
    "deep evidence of objects": ("trial", "evidence", '{"a":' * 5000 + "1" + "}" * 5000),
    "evidence that is a list": ("trial", "evidence", "[1]"),
    "evidence with NaN": ("trial", "evidence", '{"a":NaN}'),
    "evidence with a long number": ("trial", "evidence", '{"a":' + "9" * 9999 + "}"),
    "parameters that are no JSON": ("trial", "parameters", "{"),
    "parameters with Infinity": ("trial", "parameters", '{"rate":Infinity}'),
    "parameters that are null": ("trial", "parameters", "null"),
    "a text as block": ("trial", "block", "first"),
    "an enormous block": ("trial", "block", 2**62),
    "a real block": ("trial", "block", 1.5),
    "a blob as VPN": ("trial", "vpn", b"none"),
    "an unknown status": ("trial", "status", "fine"),
    "infinite duration": ("trial", "duration_s", _INF),
    "a time that is none": ("trial", "started_at", "yesterday"),
    "a time without a zone": ("trial", "started_at", "2026-01-01T00:00:00"),
    "an environment that is a text": ("run", "environment", '"x"'),
    "a deep environment": ("run", "environment", '{"a":' + _DEEP + "}"),
    "a canonical study that is none": ("run", "canonical", "7"),
    "a text as seed": ("run", "seed", "one"),
    "a blob as study": ("run", "study", b"../../x"),
    "a session's time": ("session", "started_at", "1"),
    "a session's environment": ("session", "environment", ""),
    "an ending's time": ("ending", "ended_at", "later"),
    "text that is no UTF-8": ("run", "title", "NOT-UTF-8"),
}
"""What stands in a column: table, column, value."""


def with_value(directory: Path, name: str) -> Path:
    """A journal with one of ``VALUES``."""
    table, column, value = VALUES[name]
    if value == "BOMB":
        value = zlib.compress(bytes(200 << 20), 9)
    made(directory)
    if value == "NOT-UTF-8":
        execute(directory, f"UPDATE {table} SET {column} = CAST(x'fffe' AS TEXT)")
    else:
        assign(directory, table, column, value)
    return directory


def with_schema(directory: Path, name: str) -> Path:
    """A journal with one of ``SCHEMAS``."""
    made(directory)
    execute(directory, *SCHEMAS[name])
    return directory
