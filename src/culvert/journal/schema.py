"""The tables of the journal. docs/journal.md documents them for other programs.

Every row of run, session, install and trial has a checksum; that of a trial covers its metrics,
series and histograms too, because SQLite detects damaged pages but not changed bytes in a value.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing

SCHEMA_VERSION = 1
APPLICATION_ID = 0x43_55_4C_56
"""CULV in ASCII: distinguishes a journal from other SQLite files (PRAGMA application_id)."""

TABLES = """
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
    started_at TEXT NOT NULL,
    checksum TEXT NOT NULL
);
CREATE TABLE session (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    started_at TEXT NOT NULL,
    culvert_version TEXT NOT NULL,
    environment TEXT NOT NULL,
    checksum TEXT NOT NULL
);
CREATE TABLE ending (
    session_id INTEGER PRIMARY KEY REFERENCES session (id),
    ended_at TEXT NOT NULL,
    reason TEXT NOT NULL,
    checksum TEXT NOT NULL
);
CREATE TABLE install (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    vpn TEXT NOT NULL,
    role TEXT NOT NULL,
    duration_s REAL NOT NULL,
    changed INTEGER NOT NULL,
    version TEXT NOT NULL,
    ok INTEGER NOT NULL,
    at TEXT NOT NULL,
    checksum TEXT NOT NULL
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
    evidence TEXT NOT NULL,
    checksum TEXT NOT NULL,
    UNIQUE (block, cell_key)
);
CREATE TABLE metric (
    id INTEGER PRIMARY KEY,
    trial_id INTEGER NOT NULL REFERENCES trial (id),
    metric TEXT NOT NULL,
    unit TEXT NOT NULL,
    value REAL NOT NULL,
    labels TEXT NOT NULL DEFAULT '{}'
);
CREATE TABLE series (
    id INTEGER PRIMARY KEY,
    trial_id INTEGER NOT NULL REFERENCES trial (id),
    name TEXT NOT NULL,
    unit TEXT NOT NULL,
    labels TEXT NOT NULL DEFAULT '{}',
    t_ns BLOB NOT NULL,
    value BLOB NOT NULL
);
CREATE TABLE histogram (
    id INTEGER PRIMARY KEY,
    trial_id INTEGER NOT NULL REFERENCES trial (id),
    name TEXT NOT NULL,
    unit TEXT NOT NULL,
    labels TEXT NOT NULL DEFAULT '{}',
    hdr_v2 TEXT NOT NULL
);
"""

OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master"

COLUMNS: Mapping[str, Mapping[str, str]]
"""The type of each column, by table and name."""
with closing(sqlite3.connect(":memory:")) as _empty:
    _empty.executescript(TABLES)
    SCHEMA = frozenset(_empty.execute(OBJECTS))
    """What ``OBJECTS`` gives for an intact journal."""
    COLUMNS = {
        table: {row[1]: row[2] for row in _empty.execute(f"PRAGMA table_info({table})")}
        for kind, table, *_ in sorted(SCHEMA)
        if kind == "table" and not table.startswith("sqlite_")
    }

CONTENT = {
    table: tuple(name for name in columns if name not in ("id", "trial_id", "checksum"))
    for table, columns in COLUMNS.items()
}
"""The columns that the checksum covers, by table."""
CHILDREN = {table: CONTENT[table] for table in ("metric", "series", "histogram")}
"""Child tables of a trial, in the order of the checksum."""
