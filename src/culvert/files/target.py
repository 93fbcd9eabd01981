"""A result file that the user named, in any directory: a new file, then renamed."""

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
    """A new file that atomically replaces the path when it is complete.

    A link is replaced, not followed. A pipe or a device (/dev/null, /dev/stdout) is
    written to directly. Raises OSError; UsageError for a directory behind another user's link.
    """
    if _is_special(path):
        # Renaming onto /dev/null would replace it for all users.
        with path.open("wb") as file:
            yield file
        return
    with any_folder(path.parent) as folder, folder.replacing(path.name) as file:
        yield file


def _is_special(path: Path) -> bool:
    """A pipe or a device of a trusted user; a link to it must belong to a trusted user too."""
    try:
        entry, behind = path.lstat(), path.stat()
    except OSError:
        return False
    ours = trusted(entry.st_uid) and trusted(behind.st_uid)
    return ours and not stat.S_ISREG(behind.st_mode) and not stat.S_ISDIR(behind.st_mode)
