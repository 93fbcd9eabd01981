"""One run at a time on a journal: an advisory lock that the kernel drops when the holder dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from culvert.errors import JournalError


class JournalLock:
    """Holds ``DIRECTORY/journal.lock``, with our process id in it for the message to others."""

    def __init__(self, directory: Path) -> None:
        """Take the lock or raise JournalError that names the process that has it."""
        path = directory / "journal.lock"
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise JournalError(
                str(path), f"it cannot be opened: {error.strerror}", "choose another --out"
            ) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._fd)
            raise JournalError(
                str(directory),
                f"another run is writing its journal (process {holder})",
                "wait for it or end it, or choose another --out",
            ) from None
        except OSError as error:
            os.close(self._fd)
            raise JournalError(
                str(path), f"it cannot be locked: {error.strerror}", "choose a local directory"
            ) from error
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)
        except OSError:
            # A full disk: the lock holds without the id, which only serves the message.
            return

    def release(self) -> None:
        """Let others write. The file stays: removing it would let two runs hold two files."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
