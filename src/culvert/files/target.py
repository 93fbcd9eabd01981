"""The one file that a user named for results: beside and renamed, in whatever directory."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from culvert.files.folder import any_folder
from culvert.files.trust import trusted


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file that takes the path's place when all is written; whole or not at all.

    A link in its place is replaced, not followed. A pipe or a device (/dev/null, /dev/stdout) is
    written to as it is. Raises OSError; UsageError for a directory behind a stranger's link.
    """
    if _is_special(path):
        # Renaming onto /dev/null would take it from everybody.
        with path.open("wb") as file:
            yield file
        return
    with any_folder(path.parent) as folder, folder.replacing(path.name) as file:
        yield file


def _is_special(path: Path) -> bool:
    """A pipe or a device of somebody whom we trust, as is the link to it if there is one."""
    try:
        entry, behind = path.lstat(), path.stat()
    except OSError:
        return False
    ours = trusted(entry.st_uid) and trusted(behind.st_uid)
    return ours and not stat.S_ISREG(behind.st_mode) and not stat.S_ISDIR(behind.st_mode)
