"""One run at a time per journal: an advisory lock that the kernel releases when its holder ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from culvert.errors import JournalError
from culvert.files.folder import OpenFolder
from culvert.privilege import id_outside

NAME = "journal.lock"
_MODE = 0o600
"""A user who can open a file, even read only, can lock it."""


@contextmanager
def locked(folder: OpenFolder) -> Iterator[None]:
    """Hold ``DIRECTORY/journal.lock``, which contains our process id for messages of others. The
    file stays: without it, two runs could lock two different files.

    Raises JournalError with the process that holds it; UsageError if a link, another special file
    or another user's has the lock's name.
    """
    path = str(folder.path / NAME)
    with ExitStack() as stack:
        try:
            descriptor = stack.enter_context(folder.appending(NAME, mode=_MODE)).fileno()
        except OSError as error:
            raise JournalError(
                path, f"it cannot be opened: {error.strerror}", "choose another --out"
            ) from error
        try:
            if os.geteuid() in (0, os.fstat(descriptor).st_uid):
                os.fchmod(descriptor, _MODE)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            raise JournalError(
                str(folder.path),
                f"another run is writing its journal (process {holder})",
                "wait for it or end it, or choose another --out",
            ) from None
        except OSError as error:
            raise JournalError(
                path, f"it cannot be locked: {error.strerror}", "choose a local directory"
            ) from error
        with suppress(OSError):  # a full disk: the lock is valid without the id
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{id_outside()}\n".encode())
        yield
