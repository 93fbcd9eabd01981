"""Whether a journal is whole: of our kind, of a version that we know, and as it was written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from culvert.errors import JournalError
from culvert.journal.checksum import Checksum, checksum
from culvert.journal.schema import (
    APPLICATION_ID,
    CHILDREN,
    ENDING,
    INSTALL,
    RUN,
    SCHEMA_VERSION,
    SESSION,
    TRIAL,
)
from culvert.journal.trouble import corrupt, explained

_MAGIC = b"SQLite format 3\0"


def verify(connection: sqlite3.Connection, path: Path) -> None:
    """Raise JournalError if the journal cannot be trusted; change nothing."""
    with explained(path):
        _kind(connection, path)
        _pages(connection, path)
        for table, columns in {
            "run": RUN,
            "session": SESSION,
            "ending": ENDING,
            "install": INSTALL,
        }.items():
            _rows(connection, path, table, columns)
        _trials(connection, path)


def verify_magic(path: Path) -> None:
    """Raise JournalError if the file is missing or not SQLite's."""
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except FileNotFoundError:
        raise JournalError(
            str(path.parent), "there is no journal in it", "give a directory that a run wrote"
        ) from None
    except OSError as error:
        raise JournalError(
            str(path), f"it cannot be read: {error.strerror}", "check the path and its mode"
        ) from error
    if magic != _MAGIC:
        raise corrupt(path, "it does not begin as an SQLite file does")


def _kind(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise JournalError(
            str(path), "it is an SQLite file, but not a journal", "give another directory"
        )
    if version > SCHEMA_VERSION:
        raise JournalError(
            str(path),
            f"a newer Culvert wrote it (version {version} of the journal; this Culvert knows "
            f"{SCHEMA_VERSION})",
            "update Culvert",
        )
    if version < 1:
        raise corrupt(path, f"it has the version {version}")


def _pages(connection: sqlite3.Connection, path: Path) -> None:
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise corrupt(path, found.splitlines()[-1])


def _select(
    connection: sqlite3.Connection, table: str, columns: tuple[str, ...], order: str
) -> Iterator[tuple[Any, ...]]:
    cursor = connection.cursor()
    # Names of tables and columns are constants of the schema.
    cursor.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order}")  # noqa: S608
    while rows := cursor.fetchmany(10_000):
        yield from rows


def _rows(connection: sqlite3.Connection, path: Path, table: str, columns: tuple[str, ...]) -> None:
    count = 0
    for row in _select(connection, table, (*columns, "checksum"), "rowid"):
        count += 1
        if checksum(row[:-1]) != row[-1]:
            raise corrupt(path, f"row {count} of {table} is not as it was written")
    if table == "run" and count != 1:
        raise corrupt(path, "it does not say of which study it is")


def _trials(connection: sqlite3.Connection, path: Path) -> None:
    # A trial's rows were inserted together and in the trials' order, so that no sorting is needed.
    children = {
        table: groupby(_select(connection, table, ("trial_id", *columns), "id"), itemgetter(0))
        for table, columns in CHILDREN.items()
    }
    ahead = {table: next(groups, None) for table, groups in children.items()}
    expected = 0
    for number, *row, stored in _select(connection, "trial", ("id", *TRIAL, "checksum"), "id"):
        expected += 1
        if number != expected:
            raise corrupt(path, f"trial {expected} is missing")
        found = Checksum(row)
        for table, groups in children.items():
            group = ahead[table]
            if group is not None and group[0] == number:
                for child in group[1]:
                    found.add(child[1:])
                ahead[table] = next(groups, None)
        if found.hex() != stored:
            raise corrupt(path, f"trial {number} is not as it was written")
    stray = next((table for table, group in ahead.items() if group is not None), None)
    if stray is not None:
        raise corrupt(path, f"a {stray} belongs to no trial")
    sequence = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'trial'").fetchone()
    if (sequence[0] if sequence else 0) != expected:
        raise corrupt(path, f"trial {expected + 1} is missing")
