"""The files that an import reads: named files, and those in named directories and below."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from culvert.errors import UsageError
from culvert.journal.readers.reading import natural


@dataclass(frozen=True)
class ForeignFile:
    """``shown`` is its name below the directory that all files share; ``named``: whether the
    user named it, not a directory that contains it."""

    path: Path
    shown: str
    named: bool


def foreign_files(paths: Sequence[Path]) -> list[ForeignFile]:
    """Files in natural order, each once. Raises UsageError for a directory that cannot be read.

    Hidden files and directories (``.git``, ``.gitignore``) are skipped unless they are named; links
    to directories are not followed.
    """
    named: dict[Path, bool] = {}
    found: dict[Path, Path] = {}
    for path in paths:
        inside = os.path.isdir(path)  # noqa: PTH112 - False if it may not look
        for one in _below(path) if inside else [path]:
            found.setdefault(one.absolute(), one)
            named[one.absolute()] = named.get(one.absolute(), False) or not inside
    if not found:
        return []
    shared = Path(os.path.commonpath([one.parent for one in found]))
    ordered = sorted(found, key=lambda one: natural(str(found[one])))
    return [ForeignFile(found[one], str(one.relative_to(shared)), named[one]) for one in ordered]


def _below(directory: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise UsageError(
            str(error.filename or directory),
            f"it cannot be read: {error.strerror}",
            "check its mode",
        ) from error

    for folder, folders, files in os.walk(directory, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(folder, name)
            if not name.startswith(".") and path.is_file():
                yield path
