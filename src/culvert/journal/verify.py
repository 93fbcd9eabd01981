"""Whether a journal is intact: of the right kind and version, and unchanged since it was
written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from culvert.errors import JournalError
from culvert.journal.frames import refuse_packed
from culvert.journal.rows import Row, checksum
from culvert.journal.schema import APPLICATION_ID, CHILDREN, CONTENT, SCHEMA_VERSION
from culvert.journal.trouble import corrupt, explained
from culvert.journal.untrusted import (
    OPENING_S,
    reading_s,
    refuse_holes,
    refuse_other_schema,
    within,
)
from culvert.journal.values import Texts, refuse_other_types


class NewerError(JournalError):
    """A newer version of Culvert wrote it."""


class NotAJournalError(JournalError):
    """Another program wrote it."""


def verify(connection: sqlite3.Connection, path: Path) -> None:
    """Raise JournalError if the journal cannot be trusted; change nothing."""
    with explained(path), within(connection, path, OPENING_S):
        _kind(connection, path)
        refuse_other_schema(connection, path)
        refuse_holes(connection, path)
    with explained(path), within(connection, path, reading_s(path)):
        _pages(connection, path)
        refuse_other_types(connection, path)
        texts = Texts(path)
        for table in ("run", "session", "ending", "install"):
            _rows(connection, path, table, texts)
        _trials(connection, path, texts)
        refuse_packed(connection, path)


def _kind(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise NotAJournalError(
            str(path), "it is an SQLite file, but not a journal", "give another directory"
        )
    if version > SCHEMA_VERSION:
        raise NewerError(
            str(path),
            f"a newer version of Culvert wrote it (journal version {version}; this one reads "
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
) -> Iterator[Row]:
    cursor = connection.cursor()
    # Names of tables and columns are constants of the schema.
    cursor.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order}")  # noqa: S608
    while rows := cursor.fetchmany(10_000):
        yield from rows


def _rows(connection: sqlite3.Connection, path: Path, table: str, texts: Texts) -> None:
    columns, count = CONTENT[table], 0
    for row in _select(connection, table, (*columns, "checksum"), "rowid"):
        count += 1
        if checksum(row[:-1]) != row[-1]:
            raise corrupt(path, f"row {count} of {table} has a wrong checksum")
        texts.check(table, columns, count, row)
    if table == "run" and count != 1:
        raise corrupt(path, "the record of its study is missing")


def _trials(connection: sqlite3.Connection, path: Path, texts: Texts) -> None:
    children = [_children(connection, table, columns) for table, columns in CHILDREN.items()]
    ahead = [next(groups, None) for groups in children]
    for number, *row, stored in _select(
        connection, "trial", ("id", *CONTENT["trial"], "checksum"), "id"
    ):
        mine: list[list[Row]] = [[] for _ in children]
        for index, group in enumerate(ahead):
            if group is not None and group[0] == number:
                mine[index] = group[1]
                ahead[index] = next(children[index], None)
        if checksum(tuple(row), mine) != stored:
            raise corrupt(path, f"trial {number} has a wrong checksum")
        texts.check("trial", CONTENT["trial"], number, row)
        for (table, columns), rows in zip(CHILDREN.items(), mine, strict=True):
            for place, child in enumerate(rows, 1):
                texts.check_labels(table, columns, number, place, child)
    for table, group in zip(CHILDREN, ahead, strict=True):
        if group is not None:
            raise corrupt(path, f"a {table} belongs to no trial")


def _children(
    connection: sqlite3.Connection, table: str, columns: tuple[str, ...]
) -> Iterator[tuple[Any, list[Row]]]:
    """The rows of a table by trial. They were inserted in the trials' order: no sorting."""
    rows = _select(connection, table, ("trial_id", *columns), "id")
    for number, group in groupby(rows, itemgetter(0)):
        yield number, [row[1:] for row in group]
