"""Makes a journal's file: under another name first, so that there is never half a journal."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from culvert.journal.schema import APPLICATION_ID, SCHEMA_VERSION, TABLES


def make_file(path: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Write the tables and what ``fill`` inserts in one transaction, then rename to ``path``."""
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    new.with_name(new.name + "-journal").unlink(missing_ok=True)
    connection = sqlite3.connect(new, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.executescript(f"BEGIN; {TABLES} COMMIT;")
        connection.execute("BEGIN")
        fill(connection)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()
    new.rename(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
