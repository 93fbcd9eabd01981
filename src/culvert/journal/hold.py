"""A writer's hold on a run's directory: its descriptor, the lock, and the identity of its files.

A journal's file is made under a temporary name first, so that it is never incomplete. If a journal
is removed or replaced during a run, all further trials are lost without an error:
SQLite continues to write into the deleted files.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from culvert.errors import JournalError
from culvert.files.folder import OpenFolder, run_folder
from culvert.files.trust import give_to_caller
from culvert.journal.lock import locked
from culvert.journal.schema import APPLICATION_ID, SCHEMA_VERSION, TABLES
from culvert.journal.source import FORMER
from culvert.journal.trouble import explained
from culvert.journal.untrusted import refuse_other_schema

_LOG = ("-wal", "-shm")


class Hold:
    """The directory and the lock of a writer; ``release`` releases both."""

    def __init__(self, folder: OpenFolder, name: str, held: ExitStack) -> None:
        self.folder = folder
        self._name = name
        self._held = held
        self._known: dict[str, os.stat_result] = {}

    @classmethod
    @contextmanager
    def preparing(cls, directory: Path, name: str, *, make: bool = False) -> Iterator[Hold]:
        """Hold a directory; it is released if the block fails.

        Raises JournalError if it cannot be opened or another run holds it, UsageError if other
        users can write to it, or if a link is in place of a file.
        """
        try:
            folder = run_folder(directory, make=make)
        except OSError as error:
            verb = "made" if make else "opened"
            raise JournalError(
                str(directory), f"it cannot be {verb}: {error.strerror}", "choose another --out"
            ) from error
        with ExitStack() as held:
            held.enter_context(folder)
            folder.refuse_links(name, *(name + end for end in (*_LOG, FORMER)))
            _refuse(folder, name + FORMER)
            held.enter_context(locked(folder))
            hold = cls(folder, name, held)
            yield hold
            hold._held = held.pop_all()

    def connect(self) -> sqlite3.Connection:
        """Open the journal for writing, by the descriptor of the directory that was checked."""
        path = self.folder.path / self._name
        with explained(path):
            uri = f"file:/proc/self/fd/{self.folder.descriptor}/{self._name}?mode=rw"
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10.0)
            try:
                connection.execute("PRAGMA trusted_schema = OFF")
                refuse_other_schema(connection, path)
                connection.execute("PRAGMA foreign_keys = ON")
                connection.execute("PRAGMA temp_store = MEMORY")  # not TMPDIR, which may be full
                connection.execute("PRAGMA synchronous = FULL")
            except BaseException:
                connection.close()
                raise
        return connection

    def release(self) -> None:
        self._held.close()

    def refuse_log(self) -> None:
        """Raise JournalError for a log without its journal: SQLite would play it back into a new
        one."""
        for end in _LOG:
            _refuse(self.folder, self._name + end)

    def refuse_vanished(self) -> None:
        """Raise JournalError if the directory, the journal or its log was removed, replaced or
        cut: while it is open for writing, none of them becomes shorter."""
        if not self.folder.is_at_its_path():
            raise self._vanished(self.folder.path)
        for name in (self._name, *(self._name + end for end in _LOG)):
            now = self.folder.status(name)
            before = self._known.get(name)
            if now is None and before is None:
                continue  # SQLite creates its log on the first write
            if now is None or now.st_nlink != 1:
                raise self._vanished(self.folder.path / name)
            if before is not None and not os.path.samestat(before, now):
                raise self._vanished(self.folder.path / name)
            if before is not None and now.st_size < before.st_size:
                raise self._vanished(self.folder.path / name, "cut")
            self._known[name] = now

    def _vanished(self, path: Path, what: str = "removed or replaced") -> JournalError:
        return JournalError(
            str(path),
            f"it was {what} during the run, so the run ends here",
            "check what is left (culvert verify DIR); then continue with --resume, or measure "
            "again into a directory that no other program changes",
        )


def _refuse(folder: OpenFolder, name: str) -> None:
    if folder.status(name) is not None:
        raise JournalError(
            str(folder.path / name),
            "it does not belong to this journal, but SQLite would write its content into it",
            "remove it, or choose another --out",
        )


Fill = Callable[[sqlite3.Connection], object]
_BESIDE = ("", "-journal", "-wal", "-shm")
"""The ends of the names of all files that SQLite may open for one."""


def make_file(folder: OpenFolder, name: str, fill: Fill) -> None:
    """Write the tables and the rows of ``fill`` in one transaction, then rename the file."""
    new = f"{name}.new"
    _remove(folder, new)
    connection = sqlite3.connect(f"/proc/self/fd/{folder.descriptor}/{new}", isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.executescript(f"BEGIN; {TABLES} COMMIT;")
        connection.execute("BEGIN")
        fill(connection)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")
    except BaseException:
        connection.close()
        _remove(folder, new)
        raise
    connection.close()
    made = os.open(new, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder.descriptor)
    try:
        give_to_caller(made)  # SQLite gives its log the same owner
    finally:
        os.close(made)
    os.rename(new, name, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)
    os.fsync(folder.descriptor)


def _remove(folder: OpenFolder, new: str) -> None:
    for end in _BESIDE:
        folder.remove(new + end)
