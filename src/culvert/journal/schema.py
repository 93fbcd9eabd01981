"""The tables of the journal. docs/journal.md documents them for other programs."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing

SCHEMA_VERSION = 2
CHECKSUM_VERSION = 1
"""Journals of this version have checksums of rows, which nothing reads any more."""
APPLICATION_ID = 0x43_55_4C_56
"""CULV in ASCII: distinguishes a journal from other SQLite files (PRAGMA application_id)."""

_TABLES = """
CREATE TABLE run (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    study TEXT NOT NULL,
    title TEXT NOT NULL,
    toml TEXT NOT NULL,
    canonical TEXT NOT NULL,
    digest TEXT NOT NULL,
    seed INTEGER NOT NULL,
    lab TEXT NOT NULL,
    culvert_version TEXT NOT NULL,
    environment TEXT NOT NULL,
    started_at TEXT NOT NULL{checksum}
);
CREATE TABLE session (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    started_at TEXT NOT NULL,
    culvert_version TEXT NOT NULL,
    environment TEXT NOT NULL{checksum}
);
CREATE TABLE ending (
    session_id INTEGER PRIMARY KEY REFERENCES session (id),
    ended_at TEXT NOT NULL,
    reason TEXT NOT NULL{checksum}
);
CREATE TABLE install (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    vpn TEXT NOT NULL,
    role TEXT NOT NULL,
    duration_s REAL NOT NULL,
    changed INTEGER NOT NULL,
    version TEXT NOT NULL,
    ok INTEGER NOT NULL,
    at TEXT NOT NULL{checksum}
);
CREATE TABLE trial (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER NOT NULL REFERENCES session (id),
    block INTEGER NOT NULL,
    position INTEGER NOT NULL,
    cell_key TEXT NOT NULL,
    vpn TEXT NOT NULL,
    version TEXT NOT NULL,
    condition TEXT NOT NULL,
    measurement TEXT NOT NULL,
    parameters TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('ok', 'invalid', 'failed', 'unsupported')),
    reason TEXT NOT NULL,
    remedy TEXT NOT NULL,
    started_at TEXT NOT NULL,
    duration_s REAL NOT NULL,
    measuring_s REAL NOT NULL,
    evidence TEXT NOT NULL{checksum},
    UNIQUE (block, cell_key)
);
CREATE TABLE metric (
    id INTEGER PRIMARY KEY,
    trial_id INTEGER NOT NULL REFERENCES trial (id),
    metric TEXT NOT NULL,
    unit TEXT NOT NULL,
    value REAL NOT NULL,
    labels TEXT NOT NULL DEFAULT '{{}}'
);
CREATE TABLE series (
    id INTEGER PRIMARY KEY,
    trial_id INTEGER NOT NULL REFERENCES trial (id),
    name TEXT NOT NULL,
    unit TEXT NOT NULL,
    labels TEXT NOT NULL DEFAULT '{{}}',
    t_ns BLOB NOT NULL,
    value BLOB NOT NULL
);
CREATE TABLE histogram (
    id INTEGER PRIMARY KEY,
    trial_id INTEGER NOT NULL REFERENCES trial (id),
    name TEXT NOT NULL,
    unit TEXT NOT NULL,
    labels TEXT NOT NULL DEFAULT '{{}}',
    hdr_v2 TEXT NOT NULL
);
"""

TABLES = _TABLES.format(checksum="")
CHECKSUM_TABLES = _TABLES.format(checksum=",\n    checksum TEXT NOT NULL")

OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master"


def _objects(tables: str) -> frozenset[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(tables)
        return frozenset(empty.execute(OBJECTS))


SCHEMAS = {
    CHECKSUM_VERSION: _objects(CHECKSUM_TABLES),
    SCHEMA_VERSION: _objects(TABLES),
}
"""What ``OBJECTS`` gives for a journal, by version."""

COLUMNS: Mapping[str, Mapping[str, str]]
"""The type of each column, by table and name."""
with closing(sqlite3.connect(":memory:")) as _empty:
    _empty.executescript(TABLES)
    COLUMNS = {
        table: {row[1]: row[2] for row in _empty.execute(f"PRAGMA table_info({table})")}
        for kind, table, *_ in sorted(SCHEMAS[SCHEMA_VERSION])
        if kind == "table" and not table.startswith("sqlite_")
    }

CONTENT = {
    table: tuple(name for name in columns if name not in ("id", "trial_id"))
    for table, columns in COLUMNS.items()
}
"""The columns of a record, by table."""
CHILDREN = {table: CONTENT[table] for table in ("metric", "series", "histogram")}
"""Child tables of a trial."""
