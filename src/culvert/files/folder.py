"""A directory that Culvert writes into: by its descriptor, renaming new files, never by a link."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from culvert.errors import UsageError
from culvert.files.trust import give_to_caller, others_can_write, trusted
from culvert.files.walk import StrangersLinkError, directory

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
COPY = "copy it to your own directory (cp -r), and work there"


class OpenFolder:
    """An open directory; a context manager that closes it. Made by ``run_folder``."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor

    def __enter__(self) -> OpenFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptor."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def status(self, name: str) -> os.stat_result | None:
        """The status of the entry itself, without following links; None if it is missing."""
        try:
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def is_at_its_path(self) -> bool:
        """Whether the path still refers to this directory."""
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self.descriptor))
        except OSError:
            return False

    def refuse_links(self, *names: str) -> None:
        """Raise UsageError if one of the names is not a regular file with one name."""
        for name in names:
            status = self.status(name)
            if status is None:
                continue
            if not stat.S_ISREG(status.st_mode):
                kind = (
                    "a link instead of a file"
                    if stat.S_ISLNK(status.st_mode)
                    else "not a regular file"
                )
                raise UsageError(str(self.path / name), f"it is {kind}", "remove it")
            if status.st_nlink > 1:
                raise UsageError(
                    str(self.path / name),
                    "it is a hard link: the file has another name elsewhere",
                    f"remove it, or {COPY}",
                )

    def remove(self, name: str) -> None:
        """Remove a file, if it exists; for a link, the link itself. UsageError for a directory."""
        try:
            os.unlink(name, dir_fd=self.descriptor)
        except FileNotFoundError:
            return
        except IsADirectoryError as error:
            raise UsageError(
                str(self.path / name), "it is a directory instead of a file", "remove it"
            ) from error

    def below(self, name: str) -> OpenFolder:
        """A subdirectory, created if it is missing. Raises UsageError for a link."""
        status = self.status(name)
        if status is None:
            os.mkdir(name, 0o755, dir_fd=self.descriptor)
        elif not stat.S_ISDIR(status.st_mode):
            raise UsageError(
                str(self.path / name), "it is a link or a file instead of a directory",
                "remove it",
            )  # fmt: skip
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        found = OpenFolder(self.path / name, os.open(name, flags, dir_fd=self.descriptor))
        if status is None:
            give_to_caller(found.descriptor)
        return _without_strangers(found)

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        """A new file, written atomically: it is renamed when it is complete.

        Raises UsageError if the name is a link, OSError if it cannot be written.
        """
        self.refuse_links(name)
        with self.replacing(name) as file:
            yield file

    @contextmanager
    def replacing(self, name: str) -> Iterator[IO[bytes]]:
        """The same, replacing an existing entry of the name (a link itself, not its target)."""
        part = f".{name[:200]}.{secrets.token_hex(4)}.part"
        descriptor = os.open(part, _NEW, 0o644, dir_fd=self.descriptor)
        try:
            with os.fdopen(descriptor, "wb") as file:
                give_to_caller(descriptor)
                yield file
            os.replace(part, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        finally:
            self.remove(part)

    @contextmanager
    def appending(self, name: str, *, mode: int = 0o644) -> Iterator[IO[bytes]]:
        """A file to add to and to read, created with this mode if it is missing.

        Raises UsageError if the name is a link or no file of a trusted user, OSError if it cannot
        be written.
        """
        self.refuse_links(name)
        with os.fdopen(os.open(name, _APPEND, mode, dir_fd=self.descriptor), "wb") as file:
            status = os.fstat(file.fileno())
            plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
            if not plain or not trusted(status.st_uid):
                raise UsageError(str(self.path / name), "it belongs to another user", "remove it")
            give_to_caller(file.fileno())
            yield file

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Wait for a lock on a file that only its owner can open; raises as ``appending``.

        The kernel releases it when its holder ends; the file stays.
        """
        with self.appending(name, mode=0o600) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextmanager
    def inside(self, name: str) -> Iterator[tuple[OpenFolder, str]]:
        """The subdirectory of a name with slashes, created if it is missing, and the last part.
        Raises as ``below``."""
        first, _, rest = name.partition("/")
        if not rest:
            yield self, first
            return
        with self.below(first) as below, below.inside(rest) as found:
            yield found

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically; raises as ``writing``."""
        with self.writing(name) as file:
            file.write(content)


def run_folder(path: Path, *, make: bool = False) -> OpenFolder:
    """The directory of a run, to write into.

    Raises UsageError with a remedy if it belongs to, or is writable by, another user: their links
    would decide what is overwritten. Raises OSError if it cannot be opened.
    """
    if path.resolve() == Path("/"):
        raise UsageError(str(path), "it is the root of all files", "name a directory of its own")
    return _without_strangers(any_folder(path, make=make))


def any_folder(path: Path, *, make: bool = False) -> OpenFolder:
    """A directory that the user named for a single file; others may have write permission."""
    try:
        return OpenFolder(path, directory(path, make=make))
    except StrangersLinkError as error:
        raise UsageError(
            str(path), str(error.strerror), "give the path without the link"
        ) from error


def _without_strangers(folder: OpenFolder) -> OpenFolder:
    """The same directory; closed, and UsageError raised, if another user decides what is in it."""
    status = os.fstat(folder.descriptor)
    if not trusted(status.st_uid):
        why = f"the directory belongs to another user (uid {status.st_uid})"
        remedy = f"run the command as that user, or {COPY}"
    elif others_can_write(status):
        why = "other users can write to the directory"
        remedy = "remove that permission: chmod go-w DIR; or choose another directory"
    else:
        return folder
    folder.close()
    raise UsageError(str(folder.path), why, remedy)
