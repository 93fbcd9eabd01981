"""One run at a time per journal: an advisory lock that the kernel releases when its holder ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from culvert.errors import JournalError
from culvert.files.target import give_to_caller
from culvert.privilege import id_outside

NAME = "journal.lock"


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold ``DIRECTORY/journal.lock``, which contains our process id for messages of others. The
    file stays: without it, two runs could lock two different files.

    Raises JournalError with the process that holds it.
    """
    path = directory / NAME
    # A user who can open a file, even read only, can lock it: only its owner may.
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise JournalError(
            str(path), f"it cannot be opened: {error.strerror}", "choose another --out"
        ) from error
    try:
        give_to_caller(descriptor)
        _lock(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
        raise JournalError(
            str(path.parent),
            f"another run is writing its journal (process {holder})",
            "wait for it or end it, or choose another --out",
        ) from None
    except OSError as error:
        raise JournalError(
            str(path), f"it cannot be locked: {error.strerror}", "choose a local directory"
        ) from error
    with suppress(OSError):  # a full disk: the lock is valid without the id
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{id_outside()}\n".encode(), 0)
