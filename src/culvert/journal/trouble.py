"""From SQLite's errors to Culvert's: the reason, and a remedy."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from culvert.errors import JournalError

RECOVER = (
    "measure into another directory, or take what sqlite3's .recover can read (see docs/journal.md)"
)


class NoRoomError(JournalError):
    """The disk is full or failed while a journal was written; its remedy is that of a run."""


def corrupt(path: Path, why: str) -> JournalError:
    """The error for a journal with content that was not written to it."""
    return JournalError(str(path), f"the journal is corrupt: {why}", RECOVER)


_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
INDEX_BYTES = 64 * 1024
LEAST_BYTES = 1 << 20
"""Least free disk space: a new journal with its log and a few trials."""


@contextmanager
def explained_making(path: Path) -> Iterator[None]:
    """As ``explained``, if no journal exists yet that a run could continue."""
    try:
        with explained(path):
            yield
    except JournalError as error:
        if getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF not in _NO_ROOM:
            raise
        raise JournalError(
            str(path.parent),
            "the disk has no space for a journal; nothing was measured",
            f"free {LEAST_BYTES >> 20} MB or more, or choose another --out, then run it again",
        ) from error


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raise JournalError for errors of SQLite in the block."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explain(error, path) from error
    except (UnicodeDecodeError, MemoryError) as error:
        # Python's errors for damaged text, and for a damaged length that is too large.
        raise corrupt(path, str(error) or "a value is too long to be read") from error


def _explain(error: sqlite3.Error, path: Path) -> JournalError:
    # The low byte of an extended code is the primary one (https://sqlite.org/rescode.html).
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_IOERR and _is_full(path.parent):
        code = sqlite3.SQLITE_FULL
    for codes, what, why, remedy in _TROUBLES:
        if code in codes:
            place = path.parent if what == "directory" else path
            kind = NoRoomError if code in _NO_ROOM else JournalError
            return kind(str(place), why.format(error=error), remedy)
    return corrupt(path, str(error))


def _is_full(directory: Path) -> bool:
    """Whether even the index of SQLite's log does not fit: SQLite reports that as an I/O error."""
    try:
        space = os.statvfs(directory)
    except OSError:
        return False
    return space.f_bavail * space.f_frsize < INDEX_BYTES


_TROUBLES = (
    (
        (sqlite3.SQLITE_FULL,),
        "directory",
        "the disk is full; earlier trials are kept",
        "free disk space, then continue with --resume",
    ),
    (
        (sqlite3.SQLITE_IOERR,),
        "directory",
        "the disk failed ({error}); earlier trials are kept",
        "check the disk and its free space, then continue with --resume",
    ),
    (
        (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
        "file",
        "it cannot be opened: {error}",
        "check the modes of file and directory",
    ),
    (
        (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED),
        "file",
        "another program has locked it",
        "end that program, then continue with --resume",
    ),
    (
        (sqlite3.SQLITE_CONSTRAINT,),
        "file",
        "SQLite refuses a row: {error}",
        "report it as a defect; earlier trials are kept",
    ),
)
"""By primary result code: subject, reason and remedy. All other codes: corrupt."""
