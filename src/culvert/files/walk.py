"""From a path to a descriptor of a directory, component by component.

A symbolic link in the path is followed only if it belongs to a trusted user. Later operations by
the descriptor stay in the directory that was found, even if the path changes.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from culvert.files.trust import give_to_caller, trusted

MOST_LINKS = 40
"""The kernel's limit of links in a path (path_resolution(7))."""
_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC


class StrangersLinkError(OSError):
    """A link of another user is in the path."""


def directory(path: Path, *, make: bool = False) -> int:
    """A descriptor of the directory, created with its parents if ``make``; the caller closes it.

    Raises OSError; StrangersLinkError for a link that is not followed.
    """
    todo = list(reversed(path.absolute().parts[1:]))
    links = 0
    at = os.open("/", _STEP)
    try:
        while todo:
            part = todo.pop()
            target = _link(at, part, path)
            if target is not None:
                links += 1
                if links > MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
                if target.startswith("/"):
                    at = _moved(at, os.open("/", _STEP))
                todo += [one for one in reversed(target.split("/")) if one not in ("", ".")]
                continue
            at = _moved(at, _child(at, part, path, make=make))
        return _moved(at, os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=at))
    except BaseException:
        os.close(at)
        raise


def _moved(old: int, new: int) -> int:
    os.close(old)
    return new


def _link(at: int, part: str, path: Path) -> str | None:
    """The target of a link; None if it is not a link, or is missing."""
    try:
        status = os.stat(part, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISLNK(status.st_mode):
        return None
    if not trusted(status.st_uid):
        raise StrangersLinkError(errno.ELOOP, f"{part} is a link of another user", str(path))
    return os.readlink(part, dir_fd=at)


def _child(at: int, part: str, path: Path, *, make: bool) -> int:
    try:
        return os.open(part, _STEP, dir_fd=at)
    except FileNotFoundError:
        if not make:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
    try:
        os.mkdir(part, 0o755, dir_fd=at)
    except FileExistsError:  # another command has made it meanwhile
        return os.open(part, _STEP, dir_fd=at)
    made = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=at)
    give_to_caller(made)
    return made
