"""The runs in directories: where their journals are, and in which state."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from culvert.errors import UsageError
from culvert.journal.codec import fingerprint
from culvert.journal.journal import FILE


@dataclass(frozen=True)
class Place:
    """A run's directory. ``root`` has the store of its summary, in which it is called ``name``."""

    root: Path
    name: str
    state: str
    """Of the journal's files: another one when a trial was added."""

    @property
    def id(self) -> int:
        """A number of the run in this state."""
        return number_of((self.name, self.state))

    @property
    def directory(self) -> Path:
        """Of the run."""
        return self.root / self.name


@dataclass(frozen=True)
class LeftOut:
    """A run or a bundle that cannot be read, or was changed, and why."""

    what: Path
    why: str


def number_of(texts: Iterable[str]) -> int:
    """A number of 60 bits that depends on the texts alone, on every machine."""
    return int(fingerprint(tuple(texts))[:15], 16)


def places(directories: Sequence[Path]) -> list[Place]:
    """The runs at or below the directories, each once, by name.

    Directories whose name begins with a dot are left out. Raises UsageError if there is none.
    """
    found: dict[str, Place] = {}
    for given in directories:
        top = given.resolve()
        if not top.is_dir():
            raise UsageError(str(given), "it is not a directory", "give a directory with runs")
        # A run's own directory belongs to the store of all that are beside it.
        alone = (top / FILE).exists() and given.name
        root, begin = (given.parent, f"{given.name}/") if alone else (given, "")
        for below, state in _runs(str(top), ""):
            place = Place(root, f"{begin}{below}".rstrip("/") or ".", state)
            found.setdefault(f"{top}/{below}", place)
    if not found:
        given_all = " ".join(map(str, directories))
        raise UsageError(given_all, "it contains no journal", "give directories with runs")
    return sorted(found.values(), key=lambda one: (str(one.root), one.name))


def _runs(top: str, below: str) -> Iterator[tuple[str, str]]:
    """Paths of runs relative to the top, each ending in a slash, and their states."""
    here = f"{top}/{below}"
    state = _stamp(f"{here}{FILE}")
    if state:
        yield below, f"{state} {_stamp(f'{here}{FILE}-wal')}"
        return
    with os.scandir(here) as entries:
        folders = [
            one.name
            for one in entries
            if one.is_dir(follow_symlinks=False) and not one.name.startswith(".")
        ]
    for name in sorted(folders):
        yield from _runs(top, f"{below}{name}/")


def _stamp(path: str) -> str:
    try:
        status = os.stat(path)  # noqa: PTH116 - ten thousand paths
    except OSError:
        return ""
    return f"{status.st_ino}:{status.st_size}:{status.st_mtime_ns}"
