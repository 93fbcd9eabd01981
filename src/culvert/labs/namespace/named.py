"""Which named namespaces and control groups are a run's: a name alone proves nothing.

::

    /run/culvert/RUN/NODE.namespace    a symbolic link: the inode of the node's network namespace

A namespace is recorded before it has its name, and removed before its record is. If somebody has
removed the record, the mark in the namespace proves it (``mark``). A control group is a run's if
the run has an owner or such a namespace: its name holds the run's random id.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from culvert.labs.namespace import mark
from culvert.labs.namespace.owner import Owner
from culvert.labs.namespace.places import (
    NAMESPACES,
    RUNS,
    links_of,
    namespace_name,
    namespace_path,
    owner_link,
    run_directory,
)
from culvert.machine import cgroup
from culvert.privilege import is_root
from culvert.runid import RUN_ID

_RECORD = ".namespace"
_OWN = Path("/proc/thread-self/ns/net")
_DOCTOR = "doctor"
_NAME = re.compile(namespace_name(f"(?:{RUN_ID})", "[a-z0-9-]+"))


def record(run_id: str, node: str) -> None:
    """Record this thread's network namespace as the node's. Raises OSError."""
    link = _link(run_id, node)
    link.unlink(missing_ok=True)
    link.symlink_to(str(_OWN.stat().st_ino))


def forget(run_id: str, node: str) -> None:
    """Drop the record: the name is another's."""
    _link(run_id, node).unlink(missing_ok=True)


def namespace_runs() -> dict[Path, str]:
    """The run of each name in /run/netns that a run recorded or marked. The file may not be a
    namespace yet: the run was killed at that moment."""
    recorded = _recorded_runs()
    return recorded | {path: mark.run_id for path, mark in _marked(recorded).items()}


def marked_owner(run_id: str) -> Owner | None:
    """The owner of a run by the marks in its namespaces."""
    marks = (mark.of(path) for path in _names() if path.match(namespace_name(run_id, "*")))
    return next((found.owner for found in marks if found is not None), None)


def unproved_names() -> list[Path]:
    """Names in /run/netns like ours for which there is neither a record nor a mark."""
    proved = namespace_runs()
    return [path for path in _names() if path not in proved]


def _marked(recorded: Collection[Path]) -> dict[Path, mark.Mark]:
    marks = {path: mark.of(path) for path in _names() if path not in recorded}
    return {path: found for path, found in marks.items() if found is not None}


def _names() -> list[Path]:
    with suppress(OSError):
        return sorted(path for path in NAMESPACES.iterdir() if _NAME.fullmatch(path.name))
    return []


def _recorded_runs() -> dict[Path, str]:
    return {
        path: run_id
        for run_id in runs_with_directory()
        for link in links_of(run_id, _RECORD)
        if _is_recorded(path := namespace_path(run_id, link.name.removesuffix(_RECORD)), link)
    }


def group_runs() -> dict[Path, str]:
    """The run of each control group that a lab has made. Without root all groups that the user may
    change are in a group of their own, and the owner of a killed run is not seen any more."""
    found = cgroup.runs()
    if not found or not is_root():
        return found
    marked = {one.run_id for one in _marked(_recorded_runs()).values()}
    return {
        path: run_id
        for path, run_id in found.items()
        if owner_link(run_id).is_symlink() or run_id in marked or _is_doctors(path, run_id)
    }


def runs_with_directory() -> list[str]:
    """The runs whose directory exists."""
    with suppress(OSError):
        return [entry.name for entry in RUNS.iterdir() if re.fullmatch(RUN_ID, entry.name)]
    return []


def _link(run_id: str, node: str) -> Path:
    return run_directory(run_id) / f"{node}{_RECORD}"


def _is_recorded(path: Path, link: Path) -> bool:
    """Whether the name is that namespace, or an empty file that was about to become it."""
    try:
        status, inode = path.lstat(), int(link.readlink().name)
        if status.st_dev != _OWN.stat().st_dev:
            return path.is_file() and not path.is_symlink() and not status.st_size
    except (OSError, ValueError):
        return False
    return status.st_ino == inode


def _is_doctors(path: Path, run_id: str) -> bool:
    """Whether it is an empty group of `culvert doctor`, which runs nothing in it."""
    try:
        return (
            path.name == f"culvert-{run_id}-{_DOCTOR}"
            and not (path / "cgroup.procs").read_text().split()
        )
    except OSError:
        return False
