"""Whether a bundle, unpacked or not, or a run's journal is unchanged."""

from __future__ import annotations

import os
import secrets
import shutil
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from culvert.bundle import manifest
from culvert.bundle.archive import (
    MAGIC,
    MOST_FILES,
    SUFFIX,
    TOO_MUCH,
    ArchiveError,
    most_content,
    read,
)
from culvert.bundle.write import files, refuse_present, sha256
from culvert.errors import JournalError, UsageError
from culvert.files.plain import open_plain
from culvert.files.target import make_directory
from culvert.journal.journal import Journal

_BLOCK = 512
"""The unit of stat(2)'s count of blocks."""


@dataclass(frozen=True)
class Verified:
    """``problems`` is empty if nothing changed; ``note`` describes what was not checked."""

    what: Path
    files: int
    problems: tuple[str, ...]
    note: str = ""


def verify(what: Path, extract: Path | None = None) -> Verified:
    """Check a bundle, an unpacked bundle, or the journal of a run.

    ``extract`` is a new directory for the files of an unchanged bundle. Raises UsageError if the
    path is none of these.
    """
    try:
        if what.is_dir():
            return _directory(what, extract)
        return _archive(what, extract)
    except FileNotFoundError as error:
        raise UsageError(
            str(error.filename), "the file does not exist", "check the path"
        ) from error
    except OSError as error:
        raise UsageError(
            str(error.filename or what),
            f"it cannot be read or written: {error.strerror}",
            "check its mode",
        ) from error


def _archive(path: Path, extract: Path | None) -> Verified:
    with open_plain(path) as file:
        named = file.read(len(MAGIC)) == MAGIC or path.name.endswith(SUFFIX)
    if not named:
        raise UsageError(str(path), "it is not a bundle", "give a file from 'culvert bundle'")
    if extract is None:
        return _checked(path)
    refuse_present(extract)
    part = extract.with_name(f".{extract.name}.{secrets.token_hex(4)}.part")
    make_directory(part)
    try:
        found = _checked(path, part)
        if not found.problems:
            part.rename(extract)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return found


def _checked(path: Path, into: Path | None = None) -> Verified:
    """Check an archive, and write its files into a folder, if one is given."""
    try:
        found, listing = read(path, into)
    except ArchiveError as error:
        return Verified(path, 0, (str(error),))
    return Verified(path, len(found), tuple(_compared(listing, found)))


def _directory(path: Path, extract: Path | None) -> Verified:
    if extract is not None:
        raise UsageError(str(path), "it is already unpacked", "leave out --extract")
    listing = path / manifest.NAME
    if not os.path.lexists(listing):
        try:
            with Journal.open(path) as journal:
                trials = len(journal.done())
        except JournalError as error:
            if not Journal.exists(path):
                raise
            return Verified(path, 0, (f"{error.what}: {error.why}",))
        note = f"it has no {manifest.NAME}: only its journal was checked ({trials} trials)"
        return Verified(path, 1, (), note)
    found: dict[str, str] = {}
    problems = []
    members = dict(islice(files(path), MOST_FILES + 1))
    sizes = [file.lstat() for file in members.values()]
    # A file of holes alone takes no space, and hours to be read.
    most = most_content(sum(size.st_blocks * _BLOCK for size in sizes))
    if len(members) > MOST_FILES or sum(size.st_size for size in sizes) > most:
        return Verified(path, len(members), (TOO_MUCH,))
    for name, file in members.items():
        if file.is_symlink() or not file.is_file():
            problems.append(f"{name} is not a regular file")
        elif name != manifest.NAME:
            found[name] = sha256(file)
    with open_plain(listing) as file_:
        content = file_.read(manifest.MOST_BYTES)
    return Verified(path, len(found), (*problems, *_compared(content, found)))


def _compared(listing: bytes, found: dict[str, str]) -> list[str]:
    if not listing:
        return [f"{manifest.NAME} is missing"]
    try:
        return manifest.differences(manifest.read(listing), found)
    except ValueError as error:
        return [f"{manifest.NAME} was changed: {error}"]
