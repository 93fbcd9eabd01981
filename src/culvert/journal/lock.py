"""One run at a time on a journal: an advisory lock that the kernel drops when the holder dies."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path

from culvert.errors import JournalError
from culvert.files.folder import OpenFolder
from culvert.files.trust import give_to_caller, trusted

NAME = "journal.lock"
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MODE = 0o600
"""Whoever can open a file, be it to read it, can lock it."""
_LOCKS = Path("/proc/locks")


class JournalLock:
    """Holds ``DIRECTORY/journal.lock``, with our process id in it for the message to others."""

    def __init__(self, folder: OpenFolder) -> None:
        """Take the lock or raise JournalError that names the process that has it.

        Raises UsageError where a link or another special file has the lock's name.
        """
        self._fd = _opened(folder)
        try:
            if not self._taken(folder) and not self._taken_from_stranger(folder):
                holder = os.pread(self._fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
                raise JournalError(
                    str(folder.path),
                    f"another run is writing its journal (process {holder})",
                    "wait for it or end it, or choose another --out",
                )
        except BaseException:
            self.release()
            raise
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

    def _taken(self, folder: OpenFolder) -> bool:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise JournalError(
                str(folder.path / NAME),
                f"it cannot be locked: {error.strerror}",
                "choose a local directory",
            ) from error
        return True

    def _taken_from_stranger(self, folder: OpenFolder) -> bool:
        """A lock file that others could once open, held by one of them, is replaced."""
        mine, named = os.fstat(self._fd), folder.status(NAME)
        if named is None or not os.path.samestat(mine, named) or not _held_by_stranger(mine):
            return False
        folder.remove(NAME)
        os.close(self._fd)
        self._fd = -1
        self._fd = _opened(folder)
        return self._taken(folder)


def _opened(folder: OpenFolder) -> int:
    folder.refuse_links(NAME)
    path = folder.path / NAME
    try:
        descriptor = os.open(NAME, _FLAGS, _MODE, dir_fd=folder.descriptor)
    except OSError as error:
        raise JournalError(
            str(path), f"it cannot be opened: {error.strerror}", "choose another --out"
        ) from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or not trusted(status.st_uid):
        os.close(descriptor)
        raise JournalError(str(path), "it is a file of somebody else", "remove it")
    if os.geteuid() in (0, status.st_uid):
        os.fchmod(descriptor, _MODE)
        give_to_caller(descriptor)
    return descriptor


def _held_by_stranger(status: os.stat_result) -> bool:
    """Whether all processes that hold the lock are known, and none is of a user whom we trust."""
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        lines = [line.split() for line in _LOCKS.read_text().splitlines()]
        # 1: FLOCK  ADVISORY  WRITE 1234 fe:01:5678 0 EOF (proc_locks(5))
        holders = [words[4] for words in lines if words[1] == "FLOCK" and words[5] == file]
        owners = [Path(f"/proc/{holder}").stat().st_uid for holder in holders]
    except (OSError, IndexError):
        return False
    return bool(owners) and not any(map(trusted, owners))
