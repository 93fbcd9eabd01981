"""The file that a reader of a journal opens. Reading writes nothing into the journal's directory
and needs only the permission to read.

Without a log, the reader opens the file itself: no program writes to it. With a log (a run is in
progress, or was killed) SQLite would have to write there too, so both are copied to a temporary
directory, or into memory where that is full. If a run begins while the file is read, its log is the
first that it writes; the file is copied before the run's trials come into it, so that the reader
keeps what it opened.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from culvert.errors import JournalError, UsageError
from culvert.files.plain import open_own
from culvert.journal.trouble import corrupt

FORMER = "-journal"
"""The end of the name of SQLite's rollback journal: SQLite would play it back into the file."""
_ATTEMPTS = 5
_CHUNK = 1 << 20
_SALTS = slice(16, 24)
"""The salts of a log's header: they change when the log restarts
(https://sqlite.org/fileformat.html, 4.1)."""
_CLOCK_TICK_NS = 20_000_000
"""File times have the resolution of a kernel tick: a file may change again within one tick."""
_MEMORY = "/dev/shm"  # noqa: S108 - a directory of a random name is made in it
_BESIDE_BYTES = 1 << 20
"""For the index of the log, and a log that grows meanwhile."""
_FILES = 4
"""The directory, the copy, its log, and SQLite's index of the log."""
_MAGIC = b"SQLite format 3\0"

Stamp = tuple[int, int, int]


class Source:
    """``path`` is the file to open, ``immutable``: it is not a copy. ``close`` removes a copy."""

    def __init__(self, journal: Path) -> None:
        """Raises JournalError without a journal, or without disk space for a copy."""
        self._journal = journal
        self._folder: Path | None = None
        begin = _read(journal, len(_MAGIC))
        if begin != _MAGIC:
            raise corrupt(journal, "it does not have the header of an SQLite file")
        former = journal.with_name(journal.name + FORMER)
        if os.path.lexists(former):
            raise JournalError(
                str(former),
                "it does not belong to this journal, but SQLite would write its content into it",
                "remove it, if you did not put it there",
            )
        self._stamp = _stamp(journal)
        self.immutable = not _size(log_of(journal))
        self.path = journal if self.immutable else self._copied(copy_with_log)

    def changed(self) -> bool:
        """Whether the file that is read changed since it was opened."""
        return self.immutable and _stamp(self._journal) != self._stamp

    def fixed(self) -> bool:
        """Copy the file if a run has begun to write; whether ``path`` is another one now.

        Raises JournalError without disk space for a copy.
        """
        if not self.immutable or not _size(log_of(self._journal)):
            return False
        self.path, self.immutable = self._copied(self._copy_alone), False
        return True

    def _copy_alone(self, journal: Path, copy: Path) -> bool:
        _copy(journal, copy)
        return _stamp(journal) == self._stamp

    def close(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _copied(self, copied: Callable[[Path, Path], bool]) -> Path:
        try:
            self._folder = _scratch(_size(self._journal) + _size(log_of(self._journal)))
            copy = self._folder / self._journal.name
            for _ in range(_ATTEMPTS):
                if copied(self._journal, copy):
                    return copy
        except OSError as error:
            self.close()
            raise JournalError(
                str(self._journal),
                f"it cannot be copied to {' or '.join(_places())}: {error.strerror}",
                "check its mode, and free some space there (or set TMPDIR)",
            ) from error
        except BaseException:
            self.close()
            raise
        self.close()
        raise JournalError(
            str(self._journal), "another program writes to it continuously", "try again later"
        )


def _places() -> list[str]:
    """Where a copy may be, in order."""
    named = os.environ.get("TMPDIR")  # tempfile silently takes another one where it is full
    return list(dict.fromkeys([named or tempfile.gettempdir(), _MEMORY]))


def _scratch(content_bytes: int) -> Path:
    """A new directory with room for a copy, and for what SQLite writes beside it. A file system
    may have no more inodes, or none at all (``f_files``)."""
    trouble = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    for place in _places():
        try:
            free = os.statvfs(place)
            room = free.f_bavail * free.f_frsize >= content_bytes + _BESIDE_BYTES
            if room and (not free.f_files or free.f_favail >= _FILES):
                return Path(tempfile.mkdtemp(prefix="culvert-journal-", dir=place))
        except OSError as error:  # it is missing, or has no inodes
            trouble = error
    raise trouble


def copy_with_log(journal: Path, copy: Path) -> bool:
    """Copy a journal and its log to a new directory; False if they changed meanwhile."""
    log = log_of(journal)
    before, salts = _stamp(journal), _salts(log)
    if time.time_ns() - before[2] < _CLOCK_TICK_NS:
        time.sleep(_CLOCK_TICK_NS / 1e9)  # without it, a later change could have the same time
        before = _stamp(journal)
    _copy(journal, copy)
    log_of(copy).unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        _copy(log, log_of(copy))
    return _stamp(journal) == before and _salts(log) == salts


def log_of(journal: Path) -> Path:
    """SQLite's write-ahead log."""
    return journal.with_name(journal.name + "-wal")


def _copy(source: Path, target: Path) -> None:
    """Keep holes: a file's size may exceed the disk's."""
    with _opened(source) as content, target.open("wb") as file:
        descriptor, at = content.fileno(), 0
        size = os.fstat(descriptor).st_size
        while at < size:
            try:
                at = os.lseek(descriptor, at, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # only a hole up to the end
                    break
                raise
            end = os.lseek(descriptor, at, os.SEEK_HOLE)
            while at < end and (chunk := os.pread(descriptor, min(_CHUNK, end - at), at)):
                os.pwrite(file.fileno(), chunk, at)
                at += len(chunk)
        os.ftruncate(file.fileno(), size)


def _salts(log: Path) -> bytes:
    try:
        with _opened(log) as file:
            return file.read(_SALTS.stop)[_SALTS]
    except FileNotFoundError:
        return b""


def _opened(path: Path) -> IO[bytes]:
    try:
        return open_own(path)
    except UsageError as error:
        raise JournalError(error.what, error.why, error.remedy) from error


def _read(path: Path, length: int) -> bytes:
    try:
        with _opened(path) as file:
            return file.read(length)
    except FileNotFoundError:
        raise JournalError(
            str(path.parent), "it contains no journal", "give the directory of a run"
        ) from None
    except NotADirectoryError:
        remedy = f"unpack a bundle with: culvert verify {path.parent} --extract DIR"
        raise JournalError(str(path.parent), "it is not a directory", remedy) from None
    except OSError as error:
        raise JournalError(
            str(path), f"it cannot be read: {error.strerror}", "check the path and its mode"
        ) from error


def _size(path: Path) -> int:
    try:
        status = path.lstat()
    except OSError:
        return 0
    if not stat.S_ISREG(status.st_mode):
        raise JournalError(str(path), "it is not a regular file", "remove it")
    return status.st_size


def _stamp(path: Path) -> Stamp:
    try:
        status = path.lstat()
    except OSError:
        return (0, 0, 0)
    return (status.st_ino, status.st_size, status.st_mtime_ns)
