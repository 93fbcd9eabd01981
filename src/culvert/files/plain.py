"""Reading regular files; a pipe, a device or a directory is refused without blocking."""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

from culvert.errors import UsageError

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a directory",
    stat.S_IFSOCK: "a socket",
}


def open_plain(path: Path) -> BufferedReader:
    """Open a file for reading. Opening a pipe does not wait for a writer.

    Raises UsageError if it is not a regular file, OSError as open(2).
    """
    _refuse_special(path, path.stat())  # opening a device may have side effects
    descriptor = os.open(path, _READ)
    try:
        _refuse_special(path, os.fstat(descriptor))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_plain(path: Path, most_bytes: int) -> bytes:
    """The whole file. Raises UsageError if it is larger, or not a regular file; OSError."""
    with open_plain(path) as file:
        data = file.read(most_bytes + 1) or b""  # None: a file of the kernel without data now
    if len(data) > most_bytes:
        bound = f"{most_bytes >> 20} MiB" if most_bytes >> 20 else f"{most_bytes >> 10} KiB"
        why = f"it is larger than {bound}"
        raise UsageError(str(path), why, "check that it is the right file")
    return data


def _refuse_special(path: Path, status: os.stat_result) -> None:
    kind = _KINDS.get(stat.S_IFMT(status.st_mode))
    if kind is not None:
        raise UsageError(str(path), f"it is {kind}, not a file", "give a file")
