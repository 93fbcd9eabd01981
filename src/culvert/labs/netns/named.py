"""Which named namespaces and control groups are a run's: a name alone proves nothing.

::

    /run/culvert/RUN/NODE.namespace    a symbolic link: the inode of the node's network namespace

A namespace is recorded before it has its name, and removed before its record is. A control group is
a run's if the run has an owner: its name holds the run's random id.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from culvert.labs.netns.places import RUNS, namespace_path, owner_link, run_directory
from culvert.machine import cgroup
from culvert.privilege import is_root
from culvert.runid import RUN_ID

_RECORD = ".namespace"
_OWN = Path("/proc/thread-self/ns/net")
_DOCTOR = "doctor"


def record(run_id: str, node: str) -> None:
    """Record this thread's network namespace as the node's. Raises OSError."""
    link = _link(run_id, node)
    link.unlink(missing_ok=True)
    link.symlink_to(str(_OWN.stat().st_ino))


def forget(run_id: str, node: str) -> None:
    """Drop the record: the name is another's."""
    _link(run_id, node).unlink(missing_ok=True)


def namespace_runs() -> dict[Path, str]:
    """The run of each name in /run/netns that a run recorded. The file may not be a namespace yet:
    the run was killed at that moment."""
    return {
        path: run_id
        for run_id in runs_with_directory()
        for link in run_directory(run_id).glob(f"*{_RECORD}")
        if _is_recorded(path := namespace_path(run_id, link.name.removesuffix(_RECORD)), link)
    }


def group_runs() -> dict[Path, str]:
    """The run of each control group that a lab has made. Without root all groups that the user may
    change are in a group of their own, and the owner of a killed run is not seen any more."""
    found = cgroup.runs()
    if not is_root():
        return found
    return {
        path: run_id
        for path, run_id in found.items()
        if owner_link(run_id).is_symlink() or _is_doctors(path, run_id)
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
