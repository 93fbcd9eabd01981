"""Creates a journal's file under a temporary name first, so that it is never incomplete."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable

from culvert.files.folder import OpenFolder
from culvert.files.trust import give_to_caller
from culvert.journal.schema import APPLICATION_ID, SCHEMA_VERSION, TABLES

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
