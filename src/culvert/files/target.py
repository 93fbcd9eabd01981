"""Files that Culvert writes: with sudo they belong to the user who called it."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file that atomically replaces the path when it is complete.

    A link is replaced, not followed. A pipe or a device (/dev/null, /dev/stdout) is written to
    directly. Raises OSError.
    """
    if _is_special(path):
        # Renaming onto /dev/null would replace it for all users.
        with path.open("wb") as file:
            yield file
        return
    part = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            give_to_caller(file.fileno())
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write(path: Path, content: bytes) -> None:
    """Write a file as ``replacing``, into a directory that is made if it is missing."""
    make_directory(path.parent)
    with replacing(path) as file:
        file.write(content)


def make_directory(path: Path) -> None:
    """Make a directory and those above it, if they are missing. Raises OSError."""
    if path.is_dir():
        return
    make_directory(path.parent)
    try:
        path.mkdir(exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
    give_to_caller(path)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for a lock on a file that only its owner can open, and hold it. Raises OSError.

    The kernel releases it when its holder ends; the file stays.
    """
    make_directory(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        give_to_caller(descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def give_to_caller(file: int | Path) -> None:
    """Give what root has made to the user who called sudo, if the file system allows it."""
    if os.geteuid() == 0 and "SUDO_UID" in os.environ and "SUDO_GID" in os.environ:
        with suppress(OSError, ValueError, OverflowError):
            os.chown(file, int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"]))


def _is_special(path: Path) -> bool:
    with suppress(OSError):
        mode = path.stat().st_mode
        return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
    return False
