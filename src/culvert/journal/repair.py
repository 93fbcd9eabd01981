"""Saves what can be read of a damaged journal into a new one; the damaged file is kept."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from culvert.errors import JournalError
from culvert.journal.checksum import Row, checksum
from culvert.journal.codec import now_text
from culvert.journal.journal import FILE, Journal
from culvert.journal.lock import JournalLock
from culvert.journal.making import make_file
from culvert.journal.salvage import Salvage, salvage
from culvert.journal.schema import CHILDREN, ENDING, INSTALL, RUN, SESSION, TRIAL, insert
from culvert.journal.trouble import explained
from culvert.journal.verify import NewerError, NotAJournalError

LOST_SESSION = "lost: the journal was damaged"


@dataclass(frozen=True)
class Repaired:
    """``kept`` counts trials; ``lost`` tells of each trial that is gone what is known of it;
    ``aside`` is where the damaged file is now, None if nothing was damaged."""

    kept: int
    lost: Mapping[int, str] = field(default_factory=dict)
    aside: Path | None = None


def repair(directory: Path) -> Repaired:
    """Repair the journal in a directory; a whole one is left as it is.

    Raises JournalError if there is none, if another run has it, or if nothing can be saved.
    """
    path = directory / FILE
    if not path.exists():
        raise JournalError(
            str(directory), "there is no journal in it", "give a directory that a run wrote"
        )
    lock = JournalLock(directory)
    try:
        try:
            with Journal.open(directory) as journal:
                return Repaired(len(journal.done()))
        except (NewerError, NotAJournalError):
            raise
        except JournalError:
            return _saved(path)
    finally:
        lock.release()


def _saved(path: Path) -> Repaired:
    try:
        with tempfile.TemporaryDirectory(prefix="repair-", dir=path.parent) as folder:
            found = _read(path, Path(folder))
            if found.run is None:
                raise JournalError(
                    str(path),
                    "it cannot be repaired: what says which study it is of is lost",
                    "measure again into another directory; the file is left as it is",
                )
            new = Path(folder) / FILE
            with explained(new):
                make_file(new, lambda sql: _fill(sql, found))
            aside = _aside(path)
            new.rename(path)
    except OSError as error:
        raise JournalError(
            str(path.parent), f"it cannot be written: {error.strerror}", "free some space"
        ) from error
    return Repaired(len(found.trials), found.lost, aside)


def _read(path: Path, folder: Path) -> Salvage:
    """From a copy: SQLite writes into what it opens."""
    copy, template = folder / "copy.sqlite", folder / "template.sqlite"
    shutil.copyfile(path, copy)
    wal = path.with_name(path.name + "-wal")
    if wal.exists():
        shutil.copyfile(wal, copy.with_name(copy.name + "-wal"))
    make_file(template, lambda _sql: None)
    return salvage(copy, template)


def _aside(path: Path) -> Path:
    """Move the damaged file, and its log if there is one, to a name that is free."""
    number = 1
    while (aside := path.with_name(f"journal.damaged-{number}.sqlite")).exists():
        number += 1
    path.with_name(path.name + "-shm").unlink(missing_ok=True)
    wal = path.with_name(path.name + "-wal")
    if wal.exists():
        wal.rename(aside.with_name(aside.name + "-wal"))
    return path.rename(aside)


def _fill(sql: sqlite3.Connection, found: Salvage) -> None:
    assert found.run is not None  # asked before
    _insert(sql, "run", ("id", *RUN), found.run)
    sessions = {row[0]: row for row in found.sessions}
    for number in range(1, max([1, *sessions, *(row[1] for row, _ in found.trials)]) + 1):
        run = dict(zip(RUN, found.run[1:], strict=True))
        lost = (run["started_at"], run["culvert_version"], json.dumps({"note": LOST_SESSION}))
        _insert(sql, "session", ("id", *SESSION), sessions.get(number, (number, *lost)))
    told = ", ".join(map(str, found.lost)) or "none"
    last = max(sessions, default=1)
    reason = f"repaired; trials of the damaged journal that are lost: {told}"
    for row in (*(r for r in found.endings if r[0] != last), (last, now_text(), reason)):
        _insert(sql, "ending", ENDING, row)
    for row in found.installs:
        _insert(sql, "install", ("id", *INSTALL), row)
    for row, children in found.trials:
        columns = (*TRIAL, "checksum")
        digest = checksum(row[1:], [children[table] for table in CHILDREN])
        trial = sql.execute(insert("trial", columns), (*row[1:], digest)).lastrowid
        for table, names in CHILDREN.items():
            sql.executemany(
                insert(table, ("trial_id", *names)),
                ((trial, *child) for child in children[table]),
            )


def _insert(sql: sqlite3.Connection, table: str, columns: tuple[str, ...], row: Row) -> None:
    """``columns`` begin with the row's number, which its checksum leaves out (but an ending's)."""
    content = row if table == "ending" else row[1:]
    sql.execute(insert(table, (*columns, "checksum")), (*row, checksum(content)))
