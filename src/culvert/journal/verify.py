"""Whether a file is a whole journal: of the right kind, version and schema, and with values that
Culvert can read. SQLite allows any type in any column, and the file may be a stranger's."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from culvert.errors import JournalError
from culvert.journal.codec import from_json
from culvert.journal.connection import corrupt, explained
from culvert.journal.schema import APPLICATION_ID, COLUMNS, OBJECTS, SCHEMA_VERSION, SCHEMAS
from culvert.json_text import read_json
from culvert.results import LEAST_FIGURE, MOST_FIGURE, Status

MOST_NUMBER = 2**53
"""Greatest integer: programs that use binary64 change greater ones. A seed may be greater."""
_MOST_OBJECTS = 50
_KEPT = 4096
_WRONG = {
    "INTEGER": f"typeof({{0}}) != 'integer' OR {{0}} NOT BETWEEN {-MOST_NUMBER} AND {MOST_NUMBER}",
    "REAL": "typeof({0}) != 'real' OR "
    f"({{0}} != 0 AND abs({{0}}) NOT BETWEEN {LEAST_FIGURE!r} AND {MOST_FIGURE!r})",
    "TEXT": "typeof({0}) != 'text'",
    "BLOB": "typeof({0}) != 'blob'",
}
"""The condition for values that do not belong into a column, by its type."""


def verify(sql: sqlite3.Connection, path: Path) -> None:
    """Raise JournalError if it is none; change nothing."""
    with explained(path):
        _kind(sql, path)
        _pages(sql, path)
        _types(sql, path)
        _texts(sql, path)
        if sql.execute("SELECT count(*) FROM run").fetchone() != (1,):
            raise corrupt(path, "the record of its study is missing")


def _kind(sql: sqlite3.Connection, path: Path) -> None:
    (application,) = sql.execute("PRAGMA application_id").fetchone()
    (version,) = sql.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise JournalError(
            str(path), "it is an SQLite file, but not a journal", "give another directory"
        )
    if version > SCHEMA_VERSION:
        raise JournalError(
            str(path),
            f"a newer version of Culvert wrote it (journal version {version}; this one reads "
            f"{SCHEMA_VERSION})",
            "update Culvert",
        )
    if version not in SCHEMAS:
        raise corrupt(path, f"it has the version {version}")
    found = sql.execute(OBJECTS).fetchmany(_MOST_OBJECTS)
    if frozenset(found) != SCHEMAS[version]:
        known = {one[:2] for one in SCHEMAS[version]}
        more = next((one for one in found if one[:2] not in known), None)
        what = f"it has a {more[0]} {str(more[1])[:60]!r}" if more else "it has other tables"
        raise JournalError(
            str(path),
            f"it is not a journal written by Culvert: {what}",
            "take a copy that you trust, or measure again into another directory",
        )


def _pages(sql: sqlite3.Connection, path: Path) -> None:
    (found,) = sql.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise corrupt(path, found.splitlines()[-1])
    orphan = sql.execute("PRAGMA foreign_key_check").fetchone()
    if orphan is not None:
        table, row, parent, _ = orphan
        raise corrupt(path, f"{table}, row {row}: its {parent} is missing")


def _types(sql: sqlite3.Connection, path: Path) -> None:
    for table, columns in COLUMNS.items():
        wrong = " ".join(
            f"WHEN {_wrong(name, kind)} THEN '{name}'" for name, kind in columns.items()
        )
        # Names of tables and columns are constants of the schema.
        query = f"SELECT rowid, CASE {wrong} END AS wrong FROM {table} WHERE wrong NOT NULL LIMIT 1"  # noqa: S608
        for row, name in sql.execute(query):
            why = f"{table}, row {row}, column {name}: a value of another type, or out of bounds"
            raise corrupt(path, why)


def _wrong(name: str, kind: str) -> str:
    return "typeof(seed) != 'integer'" if name == "seed" else _WRONG[kind].format(name)


def _texts(sql: sqlite3.Connection, path: Path) -> None:
    """Texts that other code decodes."""
    for table, columns in COLUMNS.items():
        for name in sorted(columns.keys() & _READERS.keys()):
            reader = lru_cache(_KEPT)(_READERS[name])  # texts repeat from row to row
            for row, text in sql.execute(f"SELECT rowid, {name} FROM {table}"):  # noqa: S608 - constants
                try:
                    reader(text)
                except ValueError as error:
                    why = f"{table}, row {row}, column {name}: {str(error)[:200]}"
                    raise corrupt(path, why) from error


def _object(text: str) -> Mapping[str, Any]:
    """The first parser refuses numbers that JSON does not have, the second one keys with two
    values."""
    from_json(text)
    found = read_json(text)
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    return found


def _labels(text: str) -> None:
    if not all(isinstance(value, str) for value in _object(text).values()):
        raise ValueError("a label is not a text")


def _time(text: str) -> None:
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("the time has no time zone")


_READERS: dict[str, Callable[[str], object]] = {
    "canonical": _object,
    "environment": _object,
    "evidence": _object,
    "parameters": _object,
    "labels": _labels,
    "started_at": _time,
    "ended_at": _time,
    "at": _time,
    "status": Status,
}
