"""Connections to the file of a journal: to read it, which changes nothing, and to write to it."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from culvert.errors import JournalError

RECOVER = (
    "measure into another directory, or take what sqlite3's .recover can read (see docs/journal.md)"
)


class NoRoomError(JournalError):
    """The disk is full or failed while a journal was written; its remedy is that of a run."""


def corrupt(path: Path, why: str) -> JournalError:
    """The error for a journal with content that was not written to it."""
    return JournalError(str(path), f"the journal is corrupt: {why}", RECOVER)


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
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            return NoRoomError(
                str(path.parent),
                f"the disk is full or fails: {error}",
                "free disk space, or check the disk; then continue a run with --resume",
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return JournalError(
                str(path),
                f"it cannot be opened: {error}",
                "check the modes of file and directory, or copy the directory",
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return JournalError(
                str(path), "another program has locked it", "end that program, and try again"
            )
        case sqlite3.SQLITE_CONSTRAINT:
            return JournalError(
                str(path),
                f"SQLite refuses a row: {error}",
                "report it as a defect; earlier trials are kept",
            )
    return corrupt(path, str(error))


def writing(path: Path) -> sqlite3.Connection:
    """A connection to write to a file, which is created if it is missing. Raises sqlite3.Error."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=10.0)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA temp_store = MEMORY")  # not TMPDIR, which may be full
    connection.execute("PRAGMA synchronous = FULL")
    return connection


class Reading:
    """A read-only connection; what it reads is one state of the file, or ``refuse_changed`` raises.

    With a log (a run is in progress, or was killed), SQLite keeps that state in one transaction.
    Without one, SQLite is told that no program writes to the file, so that it makes no file beside
    it, and needs only the permission to read.
    """

    def __init__(self, path: Path) -> None:
        """Raises JournalError if there is no journal, sqlite3.Error."""
        if os.path.isfile(path.parent):  # noqa: PTH113 - False where it cannot be seen
            raise JournalError(
                str(path.parent),
                "it is not a directory",
                f"unpack a bundle with: culvert verify {path.parent} --extract DIR",
            )
        if not is_begun(path):
            raise JournalError(
                str(path.parent), "it contains no journal", "give the directory of a run"
            )
        self._path = path
        self._stamp = _stamp(path)
        self._immutable = not is_begun(path.with_name(path.name + "-wal"))
        uri = f"file:{quote(os.fsencode(path.absolute()))}?mode=ro"
        self.sql = sqlite3.connect(
            uri + ("&immutable=1" if self._immutable else ""), uri=True, isolation_level=None
        )
        self.sql.execute("PRAGMA trusted_schema = OFF")
        self.sql.execute("BEGIN")

    def refuse_changed(self) -> None:
        """Raise JournalError if a run has written to the file since it was opened."""
        if self._immutable and _stamp(self._path) != self._stamp:
            raise JournalError(
                str(self._path),
                "another program wrote to it during reading",
                "run the command again",
            )


def is_begun(path: Path) -> bool:
    """Whether something was written to a file. Raises JournalError if that cannot be seen."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise JournalError(
            str(path), f"it cannot be read: {error.strerror}", "check the path and its mode"
        ) from error
    return stat.S_ISREG(status.st_mode) and status.st_size > 0


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0, 0)
    return (status.st_ino, status.st_size, status.st_mtime_ns)
