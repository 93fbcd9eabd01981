"""Inserts rows, each with its checksum."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from culvert.journal.checksum import Row, checksum
from culvert.journal.schema import CHILDREN, TRIAL


def insert_row(sql: sqlite3.Connection, table: str, columns: tuple[str, ...], row: Row) -> int:
    """Insert a row of run, session, ending or install; return its id."""
    return insert_checked(sql, table, columns, row, checksum(row))


def insert_trial(sql: sqlite3.Connection, row: Row, children: Mapping[str, list[Row]]) -> int:
    """Insert a trial (columns TRIAL) and its rows of other tables (CHILDREN); return its id."""
    digest = checksum(row, [children[table] for table in CHILDREN])
    number = insert_checked(sql, "trial", TRIAL, row, digest)
    for table, columns in CHILDREN.items():
        sql.executemany(
            _statement(table, ("trial_id", *columns)),
            ((number, *child) for child in children[table]),
        )
    return number


def insert_checked(
    sql: sqlite3.Connection, table: str, columns: tuple[str, ...], row: Row, digest: str
) -> int:
    """Insert a row with a checksum that is not of this row alone; return its id."""
    number = sql.execute(_statement(table, (*columns, "checksum")), (*row, digest)).lastrowid
    if number is None:
        raise AssertionError("an INSERT gives a row id")
    return number


def _statement(table: str, columns: tuple[str, ...]) -> str:
    marks = ", ".join("?" for _ in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - constants
