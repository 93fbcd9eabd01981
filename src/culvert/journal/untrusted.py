"""Opens an untrusted SQLite file: it is only data, and its schema must be that of a journal.

SQLite's own limits bound values and statements, an authorizer allows only to read the journal's
tables, and a deadline ends statements that a file makes endless
(https://sqlite.org/security.html).
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from culvert.errors import JournalError
from culvert.journal.schema import COLUMNS, OBJECTS, SCHEMA
from culvert.journal.trouble import corrupt

MOST_VALUE_BYTES = 64 << 20
"""Greatest bytes of a text, a blob or a row."""
OPENING_S = 3.0
"""Deadline for short checks of any journal: its kind and its schema."""
LEAST_S = 8.0
BYTES_PER_S = 500_000
"""A tenth of the rate of a slow machine, so that a journal of any size has enough time."""

MOST_HOLES = 64
LEAST_HOLES = 1 << 24

_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MOST_VALUE_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 10_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 64,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 64,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 2,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 25_000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 8,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_TABLES = {*COLUMNS, "sqlite_master", "sqlite_schema", "sqlite_sequence"}
_FUNCTIONS = {
    "count", "instr", "json_extract", "json_remove", "json_valid", "max", "total", "typeof",
}  # fmt: skip
_PRAGMAS = {"application_id", "user_version", "quick_check", "page_count", "page_size"}
_OPS_BETWEEN_LOOKS = 10_000
_MOST_OBJECTS = 50


class ForeignSchemaError(JournalError):
    """A file with tables, views or triggers that are not those of a journal."""


def connect(path: Path, *, immutable: bool) -> sqlite3.Connection:
    """A read-only connection. ``immutable``: no program writes to the file meanwhile, and SQLite
    writes no other file. Raises sqlite3.Error."""
    uri = f"file:{quote(os.fsencode(path.absolute()))}?mode=ro"
    connection = sqlite3.connect(
        uri + ("&immutable=1" if immutable else ""), uri=True, isolation_level=None, timeout=2.0
    )
    for limit, most in _LIMITS.items():
        connection.setlimit(limit, most)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA mmap_size = 0")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.set_authorizer(_authorize)
    return connection


def write_copy(path: Path, target: Path, *, immutable: bool) -> None:
    """Rewrite a verified file in a fixed page order: equal contents give equal bytes.

    Raises sqlite3.Error, ForeignSchemaError; JournalError if it takes too long.
    """
    with closing(connect(path, immutable=immutable)) as connection:
        refuse_other_schema(connection, path)
        # VACUUM attaches the new file and creates its tables.
        connection.set_authorizer(None)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1)
        with within(connection, path, reading_s(path)):
            connection.execute("VACUUM INTO ?", (str(target),))


@contextmanager
def within(connection: sqlite3.Connection, path: Path, seconds: float) -> Iterator[None]:
    """End statements after so many seconds: JournalError."""
    until = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > until, _OPS_BETWEEN_LOOKS)
    try:
        yield
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_INTERRUPT:
            raise
        raise JournalError(
            str(path),
            f"reading it takes more than {seconds:.0f} s, too long for a journal of its size",
            "take a copy that you trust, or measure again into another directory",
        ) from error
    finally:
        connection.set_progress_handler(None, 0)


def reading_s(path: Path) -> float:
    """The time limit for reading a whole journal, by the file's size."""
    return LEAST_S + size_of(path) / BYTES_PER_S


def size_of(path: Path) -> int:
    """Allocated bytes, without holes; 0 if the file is gone."""
    try:
        status = path.stat()
    except OSError:
        return 0
    return min(status.st_size, status.st_blocks * 512)  # stat(2) counts blocks of 512 bytes


def refuse_holes(connection: sqlite3.Connection, path: Path) -> None:
    """Raise JournalError if the header has far more pages than the file: SQLite reads each of them.

    A compressing file system may allocate fewer, but not so few.
    """
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
    if pages * page_bytes > LEAST_HOLES + MOST_HOLES * size_of(path):
        raise corrupt(path, f"its header has {pages} pages, but nearly all are missing")


def refuse_other_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Raise ForeignSchemaError unless the file has exactly the journal's tables."""
    with within(connection, path, OPENING_S):
        found = connection.execute(OBJECTS).fetchmany(_MOST_OBJECTS)
    if set(found) == SCHEMA and len(found) == len(SCHEMA):
        return
    known = {(kind, name) for kind, name, _, _ in SCHEMA}
    more = next((row for row in found if (row[0], row[1]) not in known), None)
    what = f"it has a {more[0]} {str(more[1])[:60]!r}" if more else "it has other tables"
    raise ForeignSchemaError(
        str(path),
        f"it is not a journal written by Culvert: {what}",
        "take a copy that you trust, or measure again into another directory",
    )


def _authorize(
    action: int, first: str | None, second: str | None, _database: str | None, inner: str | None
) -> int:
    """https://sqlite.org/c3ref/c_alter_table.html lists the actions and what comes with each."""
    allowed = (
        action == sqlite3.SQLITE_SELECT
        or (action == sqlite3.SQLITE_READ and first in _TABLES and inner is None)
        or (action == sqlite3.SQLITE_FUNCTION and second in _FUNCTIONS)
        or (action == sqlite3.SQLITE_PRAGMA and first in _PRAGMAS)
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
