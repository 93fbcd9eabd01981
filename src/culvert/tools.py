"""The search for programs: Culvert's own tools first, then beside Python, then the system's.

``make setup`` and the Ansible roles put pinned versions into Culvert's tool directory, so that the
measured version is the one that was installed. Root's directory serves all users; an ordinary user
also has one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from culvert.errors import NotPossible
from culvert.privilege import is_root

SYSTEM_DIRECTORIES = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/libexec")
"""Searched after PATH, because they are often missing in a user's PATH."""


_TOOLS = "culvert/tools"
MACHINES = Path("/var/lib") / _TOOLS
"""Root's tool directory, whose programs all users of the machine may run."""


def tools_directory() -> Path:
    """Culvert's own tool directory: $CULVERT_TOOLS, else root's, else the user's own."""
    chosen = os.environ.get("CULVERT_TOOLS")
    if chosen:
        return Path(chosen)
    return MACHINES if is_root() else users_directory("XDG_DATA_HOME", ".local/share") / _TOOLS


def tool_directories() -> tuple[Path, ...]:
    """Directories to search for tools, in order: the user's own, then root's."""
    own = tools_directory()
    return (own,) if os.environ.get("CULVERT_TOOLS") or own == MACHINES else (own, MACHINES)


def cache_directory() -> Path:
    """The user's cache."""
    return users_directory("XDG_CACHE_HOME", ".cache") / "culvert"


def users_directory(variable: str, usual: str) -> Path:
    """One of the user's directories by the XDG Base Directory Specification, which ignores a
    relative path in a variable; ``usual`` is in the home directory."""
    named = Path(os.environ.get(variable, ""))
    return named if named.is_absolute() else home() / usual


def home() -> Path:
    """The user's; a directory that does not exist for a user id without one, as in a container."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/nonexistent")


@dataclass(frozen=True)
class Preferred:
    """A directory that is searched before all others; ``used`` are the programs found there."""

    directory: Path
    used: set[str] = field(default_factory=set)


_preferred: list[Preferred] = []
"""The last one is in force. Trials run one after another, with threads that all search alike."""


@contextmanager
def preferring(directory: Path) -> Iterator[Preferred]:
    """Search this directory before all others, such as that of a build of a VPN."""
    _preferred.append(Preferred(directory))
    try:
        yield _preferred[-1]
    finally:
        _preferred.pop()


def search_path() -> str:
    """The directories that ``find`` searches, in order, in the form of PATH."""
    first = [str(one.directory) for one in _preferred[-1:]]
    own = (
        *first,
        *(str(path / "bin") for path in tool_directories()),
        str(Path(sys.executable).parent),
    )
    users = os.environ.get("PATH", os.defpath).split(os.pathsep)
    # An empty entry of PATH means the working directory, from which root must not run programs.
    return os.pathsep.join(dict.fromkeys(filter(None, (*own, *users, *SYSTEM_DIRECTORIES))))


def find(program: str) -> Path | None:
    """The program's path, or None. A name with a slash is a path already."""
    if "/" in program:
        candidates = [Path(program)]
    else:
        candidates = [Path(directory) / program for directory in search_path().split(os.pathsep)]
    found = next((path for path in candidates if _executable(path)), None)
    for one in _preferred[-1:]:
        if found is not None and found.parent == one.directory:
            one.used.add(found.name)
    return found


def require(program: str, remedy: str) -> Path:
    """The program's path; raises NotPossible with the remedy if it is missing."""
    path = find(program)
    if path is None:
        raise NotPossible(program, "is not installed", remedy)
    return path


def become(argv: Sequence[str], remedy: str) -> NoReturn:
    """Replace this process by a program: signals, terminal and exit code are its own.

    Raises NotPossible with the remedy if it is not installed.
    """
    os.execv(require(argv[0], remedy), list(argv))  # noqa: S606  no shell is wanted


def _executable(path: Path) -> bool:
    return os.access(path, os.X_OK) and path.is_file()  # in this order: the first never raises
