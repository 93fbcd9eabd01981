"""A directory that we write into: by its descriptor, beside and renamed, never through a link."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from culvert.errors import UsageError
from culvert.files.trust import give_to_caller, others_can_write, trusted
from culvert.files.walk import StrangersLinkError, directory

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
COPY = "copy it to a directory of your own (cp -r), and work there"


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
        """Of the entry itself, links not followed; None if there is none."""
        try:
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def is_at_its_path(self) -> bool:
        """Whether the path still leads here."""
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self.descriptor))
        except OSError:
            return False

    def refuse_links(self, *names: str) -> None:
        """Raise UsageError where one of the names is anything but a plain file with one name."""
        for name in names:
            status = self.status(name)
            if status is None:
                continue
            if not stat.S_ISREG(status.st_mode):
                kind = "a link" if stat.S_ISLNK(status.st_mode) else "no plain file"
                raise UsageError(
                    str(self.path / name), f"it is {kind}, where a file belongs", "remove it"
                )
            if status.st_nlink > 1:
                raise UsageError(
                    str(self.path / name),
                    "it is a hard link: the file has another name elsewhere",
                    f"remove it, or {COPY}",
                )

    def remove(self, name: str) -> None:
        """Remove an entry, if it is there; of a link the link."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.descriptor)

    def below(self, name: str) -> OpenFolder:
        """A directory in this one, made if it is missing. Raises UsageError for a link."""
        status = self.status(name)
        if status is None:
            os.mkdir(name, 0o755, dir_fd=self.descriptor)
        elif not stat.S_ISDIR(status.st_mode):
            raise UsageError(
                str(self.path / name), "it is a link or a file, where a directory belongs",
                "remove it",
            )  # fmt: skip
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        found = OpenFolder(self.path / name, os.open(name, flags, dir_fd=self.descriptor))
        if status is None:
            give_to_caller(found.descriptor)
        try:
            _refuse_strangers(found)
        except UsageError:
            found.close()
            raise
        return found

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        """A new file that gets its name when all is written; whole or not at all.

        Raises UsageError where the name is a link, OSError where it cannot be written.
        """
        self.refuse_links(name)
        with self.replacing(name) as file:
            yield file

    @contextmanager
    def replacing(self, name: str) -> Iterator[IO[bytes]]:
        """The same, and what has the name already (a link itself, not what it leads to) goes."""
        part = f".{name[:200]}.{secrets.token_hex(4)}.part"
        descriptor = os.open(part, _NEW, 0o644, dir_fd=self.descriptor)
        try:
            with os.fdopen(descriptor, "wb") as file:
                give_to_caller(descriptor)
                yield file
            os.replace(part, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        finally:
            self.remove(part)

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all; raises as ``writing``."""
        with self.writing(name) as file:
            file.write(content)


def run_folder(path: Path, *, make: bool = False) -> OpenFolder:
    """The directory of a run, to write into.

    Raises UsageError with the remedy for one that is not ours or that others can write to: what
    they put there would decide what we overwrite. Raises OSError where it cannot be opened.
    """
    found = any_folder(path, make=make)
    try:
        _refuse_strangers(found)
    except UsageError:
        found.close()
        raise
    return found


def any_folder(path: Path, *, make: bool = False) -> OpenFolder:
    """A directory that the user named for a single file, whoever else may write there."""
    try:
        return OpenFolder(path, directory(path, make=make))
    except StrangersLinkError as error:
        raise UsageError(
            str(path), str(error.strerror), "give the path without the link"
        ) from error


def _refuse_strangers(folder: OpenFolder) -> None:
    status = os.fstat(folder.descriptor)
    if not trusted(status.st_uid):
        raise UsageError(
            str(folder.path),
            f"the directory belongs to another user (uid {status.st_uid})",
            f"run the command as that user, or {COPY}",
        )
    if others_can_write(status):
        raise UsageError(
            str(folder.path),
            "other users can write to the directory",
            "take that right away: chmod go-w DIR; or choose another directory",
        )
