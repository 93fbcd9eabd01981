"""Saves the readable parts of a damaged journal into a new one; the damaged file is kept."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from culvert.errors import JournalError
from culvert.files.folder import OpenFolder, run_folder
from culvert.journal.codec import now_text
from culvert.journal.hold import Hold, make_file
from culvert.journal.journal import FILE, Journal, refuse_missing
from culvert.journal.rows import insert_row, insert_trial
from culvert.journal.salvage import Salvage, salvage
from culvert.journal.schema import CONTENT
from culvert.journal.source import copy_with_log
from culvert.journal.trouble import explained
from culvert.journal.verify import NewerError, NotAJournalError

_REPAIRED = "journal.repaired.sqlite"
LOST_SESSION = "lost: the journal was damaged"


@dataclass(frozen=True)
class Repaired:
    """``kept`` counts trials; ``lost`` describes each lost trial, as far as it is known; ``aside``
    is the new path of the damaged file, None if nothing was damaged."""

    kept: int
    lost: Mapping[int, str] = field(default_factory=dict)
    aside: Path | None = None


def repair(directory: Path) -> Repaired:
    """Repair the journal in a directory; an intact one is not changed.

    Raises JournalError if there is none, if another run holds it, or if nothing can be saved;
    UsageError if other users can write to the directory.
    """
    refuse_missing(directory)
    with Hold.preparing(directory, FILE) as hold:
        found = _repaired(directory / FILE, hold.folder)
        hold.release()
    return found


def _repaired(path: Path, folder: OpenFolder) -> Repaired:
    try:
        with Journal.open(path.parent) as journal:
            return Repaired(len(journal.done()))
    except (NewerError, NotAJournalError):
        raise
    except JournalError:
        return _saved(path, folder)


def _saved(path: Path, folder: OpenFolder) -> Repaired:
    try:
        found = _read(path)
        if found.run is None:
            raise JournalError(
                str(path),
                "it cannot be repaired: the record of its study is lost",
                "measure again into another directory; the file is not changed",
            )
        with explained(path):
            make_file(folder, _REPAIRED, lambda sql: _fill(sql, found))
        aside = _aside(folder)
        _rename(folder, _REPAIRED, FILE)
    except OSError as error:
        raise JournalError(
            str(path.parent), f"it cannot be written: {error.strerror}", "free some space"
        ) from error
    return Repaired(len(found.trials), found.lost, aside)


def _read(path: Path) -> Salvage:
    """Read from a copy; if its first page is lost, the copy is changed."""
    with tempfile.TemporaryDirectory(prefix="culvert-repair-") as name:
        scratch = Path(name)
        copy_with_log(path, scratch / "copy.sqlite")
        with run_folder(scratch) as folder:
            make_file(folder, "template.sqlite", lambda _sql: None)
        return salvage(scratch / "copy.sqlite", scratch / "template.sqlite", path)


def _aside(folder: OpenFolder) -> Path:
    """Move the damaged file, and its log if it exists, to an unused name."""
    number = 1
    while folder.status(aside := f"journal.damaged-{number}.sqlite") is not None:
        number += 1
    folder.remove(f"{FILE}-shm")
    if folder.status(f"{FILE}-wal") is not None:
        _rename(folder, f"{FILE}-wal", f"{aside}-wal")
    _rename(folder, FILE, aside)
    return folder.path / aside


def _rename(folder: OpenFolder, old: str, new: str) -> None:
    os.rename(old, new, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)


def _fill(sql: sqlite3.Connection, found: Salvage) -> None:
    assert found.run is not None  # checked before
    insert_row(sql, "run", found.run[1:], found.run[0])
    sessions = {row[0]: row[1:] for row in found.sessions}
    # Only sessions that a trial names: a damaged number may have any value.
    for number in sorted({1, *sessions, *(row[1] for row, _ in found.trials)}):
        run = dict(zip(CONTENT["run"], found.run[1:], strict=True))
        lost = (run["started_at"], run["culvert_version"], json.dumps({"note": LOST_SESSION}))
        insert_row(sql, "session", sessions.get(number, lost), number)
    lost_trials = ", ".join(map(str, found.lost)) or "none"
    last = max(sessions, default=1)
    reason = f"repaired; trials of the damaged journal that are lost: {lost_trials}"
    for row in (*(r for r in found.endings if r[0] != last), (last, now_text(), reason)):
        insert_row(sql, "ending", row)
    for row in found.installs:
        insert_row(sql, "install", row[1:], row[0])
    for row, children in found.trials:
        insert_trial(sql, row[1:], children)
