"""One run at a time per journal: an advisory lock that the kernel releases when its holder ends."""

from __future__ import annotations

import fcntl
import os
import stat

from culvert.errors import JournalError
from culvert.files.folder import OpenFolder
from culvert.files.trust import give_to_caller, trusted
from culvert.privilege import id_outside, machine_proc

NAME = "journal.lock"
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MODE = 0o600
"""A user who can open a file, even read only, can lock it."""


class JournalLock:
    """Holds ``DIRECTORY/journal.lock``, which contains our process id for messages of others."""

    def __init__(self, folder: OpenFolder) -> None:
        """Take the lock, or raise JournalError with the process that holds it.

        Raises UsageError if a link or another special file has the lock's name.
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
            os.pwrite(self._fd, f"{id_outside()}\n".encode(), 0)
        except OSError:
            # A full disk: the lock is valid without the id, which only the message needs.
            return

    def release(self) -> None:
        """Release the lock. The file stays: without it, two runs could lock two different files."""
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
        """Replace a lock file that other users could open, if one of them holds it."""
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
        raise JournalError(str(path), "it belongs to another user", "remove it")
    if os.geteuid() in (0, status.st_uid):
        os.fchmod(descriptor, _MODE)
        give_to_caller(descriptor)
    return descriptor


def _held_by_stranger(status: os.stat_result) -> bool:
    """Whether all processes that hold the lock are known, and none belongs to a trusted user."""
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        lines = [line.split() for line in (machine_proc() / "locks").read_text().splitlines()]
        # 1: FLOCK  ADVISORY  WRITE 1234 fe:01:5678 0 EOF (proc_locks(5))
        holders = [words[4] for words in lines if words[1] == "FLOCK" and words[5] == file]
        owners = [(machine_proc() / holder).stat().st_uid for holder in holders]
    except (OSError, IndexError):
        return False
    return bool(owners) and not any(map(trusted, owners))
