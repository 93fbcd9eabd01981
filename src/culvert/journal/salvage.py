"""Reads a damaged journal row by row; a row is accepted only with its checksum.

SQLite finds a row by its number if the pages on the path to it are intact, so a damaged page loses
only its own rows. If the first page, which locates the tables, is damaged, that of an empty journal
replaces it: all journals have their tables at the same pages.
"""

from __future__ import annotations

import shutil
import sqlite3
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from culvert.errors import JournalError
from culvert.journal.rows import Row, checksum
from culvert.journal.schema import CHILDREN, CONTENT
from culvert.journal.untrusted import connect, reading_s, refuse_other_schema
from culvert.journal.values import Unpacking, fits

_DAMAGE = (sqlite3.Error, UnicodeDecodeError, OverflowError, MemoryError)
"""Errors that SQLite and Python raise on damaged pages and values."""


_OPS_BETWEEN_LOOKS = 1_000
_RANGE = 4096
"""Rows per query; if it fails, halves of them, down to single rows."""

_LEAST_ROW = 16
"""Least bytes of a row, which bounds the number of rows in a file."""


@dataclass
class Salvage:
    """Rows by table, as written, each with its number before the columns; ``trials`` has the child
    rows of each trial; ``lost`` describes the lost parts, by trial."""

    run: Row | None = None
    sessions: list[Row] = field(default_factory=list)
    endings: list[Row] = field(default_factory=list)
    installs: list[Row] = field(default_factory=list)
    trials: list[tuple[Row, dict[str, list[Row]]]] = field(default_factory=list)
    lost: dict[int, str] = field(default_factory=dict)


def salvage(copy: Path, template: Path, path: Path) -> Salvage:
    """Read a copy of the journal at ``path``; ``template`` is an empty one. The copy is
    changed. Raises JournalError if reading takes too long for the size of the file."""
    until = time.monotonic() + reading_s(copy)
    found = _read(copy, path, until)
    if found.run is None:
        _with_first_page_of(copy, template)
        found = _read(copy, path, until)
    return found


def _read(copy: Path, path: Path, until: float) -> Salvage:
    found = Salvage()
    try:
        connection = connect(copy, immutable=False)
    except sqlite3.Error:
        return found
    with closing(connection):
        try:
            # If the tables are not at their pages, the first page is not that of a journal.
            refuse_other_schema(connection, copy)
            reader = _Reader(connection, path, until)
        except (*_DAMAGE, JournalError):
            return found
        found.run = next(iter(_intact(reader, "run")), None)
        found.sessions = list(_intact(reader, "session"))
        found.endings = [row[1:] for row in _intact(reader, "ending", "session_id")]
        found.installs = list(_intact(reader, "install"))
        _trials(reader, copy, found)
    return found


class _Reader:
    """Reads what damage has left, until a deadline (time.monotonic)."""

    def __init__(self, connection: sqlite3.Connection, path: Path, until: float) -> None:
        self._connection = connection
        self._path = path
        self._until = until
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        self.room: int = pages * size // _LEAST_ROW
        """The number of rows that fit into the file: a damaged number may be very large."""
        connection.set_progress_handler(self._late, _OPS_BETWEEN_LOOKS)

    def _late(self) -> bool:
        return time.monotonic() > self._until

    def fetched(self, query: str, *values: int) -> list[Row] | None:
        """The rows of a query; None if damage is in its way. Raises JournalError after the
        deadline."""
        try:
            rows = self._connection.execute(query, values).fetchall()
        except _DAMAGE:
            rows = None
        if self._late():
            raise JournalError(
                str(self._path),
                "it is damaged, and reading it does not end",
                "measure again into another directory; the file is not changed",
            )
        return rows

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[Row]:
        """All rows that can be read, in the order of their first column."""
        # Names of tables and columns are constants of the schema.
        words = (", ".join(columns), table, columns[0])
        select = "SELECT {} FROM {} WHERE {} BETWEEN ? AND ? ORDER BY 1".format(*words)  # noqa: S608
        highest = self.fetched(f"SELECT max({columns[0]}) FROM {table}")  # noqa: S608
        last = self.room if highest is None else highest[0][0] or 0
        end = min(self.room, last) if isinstance(last, int) else 0
        for begin in range(1, end + 1, _RANGE):
            yield from self._between(select, begin, min(begin + _RANGE - 1, end))

    def _between(self, select: str, begin: int, end: int) -> Iterator[Row]:
        rows = self.fetched(select, begin, end)
        if rows is not None:
            # A misplaced page may contain rows with other numbers.
            yield from (row for row in rows if isinstance(row[0], int) and begin <= row[0] <= end)
        elif begin < end:
            middle = (begin + end) // 2
            yield from self._between(select, begin, middle)
            yield from self._between(select, middle + 1, end)


def _intact(reader: _Reader, table: str, key: str = "id") -> Iterator[Row]:
    columns = CONTENT[table]
    for row in reader.rows(table, (key, *columns, "checksum")):
        if checksum(row[1:-1]) == row[-1] and fits(table, columns, row[1:-1]):
            yield row[:-1]


def _unpacks(table: str, row: Row, unpacking: Unpacking) -> bool:
    """Whether the numbers of a series or a histogram can be read; other tables have none."""
    try:
        match table:
            case "series":
                unpacking.series(row[5], row[6], row[0])
            case "histogram":
                unpacking.refuse_undecodable(row[5], row[0])
    except JournalError:
        return False
    return True


def _trials(reader: _Reader, path: Path, found: Salvage) -> None:
    children: dict[int, dict[str, list[Row]]] = {}
    unfit: set[int] = set()
    unpacking = Unpacking(path)
    for table, columns in CHILDREN.items():
        for row in reader.rows(table, ("id", "trial_id", *columns)):
            mine = children.setdefault(row[1], {name: [] for name in CHILDREN})
            mine[table].append(row[2:])
            if not fits(table, columns, row[2:]) or not _unpacks(table, row, unpacking):
                unfit.add(row[1])
    columns_of_trial, seen = CONTENT["trial"], 0
    for row in reader.rows("trial", ("id", *columns_of_trial, "checksum")):
        number, content, stored = row[0], row[1:-1], row[-1]
        for missing in range(seen + 1, number):
            found.lost[missing] = "its row cannot be read"
        seen = number
        mine = children.get(number, {name: [] for name in CHILDREN})
        whole = checksum(content, [mine[name] for name in CHILDREN]) == stored
        if whole and number not in unfit and fits("trial", columns_of_trial, content):
            found.trials.append(((number, *content), mine))
        else:
            place = dict(zip(columns_of_trial, content, strict=True))
            found.lost[number] = (
                f"{place['vpn']}, {place['measurement']}, block {place['block']}: "
                "its checksum does not match"
            )
    for missing in range(seen + 1, max(seen, _last_trial(reader)) + 1):
        found.lost[missing] = "its row cannot be read"


def _last_trial(reader: _Reader) -> int:
    """The number of trials that were written, if SQLite's own count is intact; else 0."""
    found = reader.fetched("SELECT seq FROM sqlite_sequence WHERE name = 'trial'")
    count = found[0][0] if found else 0
    return count if isinstance(count, int) and count <= reader.room else 0


def _with_first_page_of(copy: Path, template: Path) -> None:
    """Put the first page of an empty journal in place of the copy's."""
    page = bytearray(template.read_bytes())
    (size,) = struct.unpack_from(">H", page, 16)  # https://sqlite.org/fileformat.html, 1.3
    del page[size:]
    content = copy.read_bytes()
    if len(content) <= size:
        return
    struct.pack_into(">I", page, 28, len(content) // size)  # pages in the file
    struct.pack_into(">II", page, 32, 0, 0)  # no free pages
    page[92:96] = page[24:28]  # the page count is valid for this state of the file
    with copy.open("r+b") as file:
        file.write(page)
    wal = copy.with_name(copy.name + "-wal")
    if wal.exists():
        shutil.move(wal, wal.with_name(wal.name + ".aside"))
