"""From SQLite's errors to ours: what happened to the journal, and what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from culvert.errors import JournalError

RECOVER = (
    "save what can be read with: culvert repair {directory} (it keeps the damaged file), "
    "or measure into another directory"
)


def corrupt(path: Path, why: str) -> JournalError:
    """The journal holds something that was not written to it."""
    remedy = RECOVER.format(directory=path.parent)
    return JournalError(str(path), f"the journal is corrupt: {why}", remedy)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raise JournalError for what SQLite raises within."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explain(error, path) from error
    except (UnicodeDecodeError, MemoryError) as error:
        # Python's own words for damaged text, and for a length that damage made enormous.
        raise corrupt(path, str(error) or "a value is too long to be read") from error


def _explain(error: sqlite3.Error, path: Path) -> JournalError:
    # The low byte of an extended code is the primary one (https://sqlite.org/rescode.html).
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    for codes, what, why, remedy in _TROUBLES:
        if code in codes:
            place = path.parent if what == "directory" else path
            return JournalError(str(place), why.format(error=error), remedy)
    return corrupt(path, str(error))


_TROUBLES = (
    (
        (sqlite3.SQLITE_FULL,),
        "directory",
        "the disk is full; what was measured before is kept",
        "free some space, then go on with --resume",
    ),
    (
        (sqlite3.SQLITE_IOERR,),
        "directory",
        "the disk failed ({error}); what was measured before is kept",
        "check the disk and its free space, then go on with --resume",
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
        "end that program, then go on with --resume",
    ),
    (
        (sqlite3.SQLITE_CONSTRAINT,),
        "file",
        "it refuses a row: {error}",
        "report it as a defect; what was measured before is kept",
    ),
)
"""Primary result codes, the thing to name, the reason, the remedy. All others: corrupt."""
