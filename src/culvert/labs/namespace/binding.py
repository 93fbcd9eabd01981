"""Which run a process belongs to, by facts that a stranger cannot have by accident.

A process is a run's if its network namespace is one of the run's, if it is in one of its control
groups (``named``), if its /run is the directory of one of its nodes, or if the run recorded it. A
variable in its environment proves nothing: anybody can set one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from culvert.labs.namespace import owner
from culvert.labs.namespace.named import group_runs, namespace_runs, runs_with_directory
from culvert.machine import cgroup
from culvert.runid import RUN_ID

_FILE_SYSTEM = re.compile(rf"culvert-({RUN_ID})")
_NODES_RUN = re.compile(r"/[a-z0-9-]+/run")


@dataclass(frozen=True)
class Binding:
    """What binds processes to runs, as it was a moment ago."""

    namespaces: Mapping[int, str]
    """The run of each network namespace that has a name, by its inode."""
    members: Mapping[int, str]
    """The run of each process in a control group, by its id."""
    recorded: Mapping[int, str]
    """The run of each process that was started outside of namespaces, by its id."""
    _views: dict[int, str | None] = field(default_factory=dict)
    """The run of each mount namespace that was looked at, by its inode."""

    @classmethod
    def now(cls, runs: set[str] | None = None) -> Binding:
        """Of all runs, or of these."""
        inodes = {}
        for path, run in namespace_runs().items():
            with suppress(OSError):
                inodes[path.stat().st_ino] = run
        members = {
            int(pid): run
            for path, run in group_runs().items()
            for group in cgroup.with_groups_below(path)
            for pid in _words(group / "cgroup.procs")
        }
        recorded = {who.pid: run for run in runs_with_directory() for who in owner.recorded(run)}

        def only(found: dict[int, str]) -> dict[int, str]:
            return {key: run for key, run in found.items() if runs is None or run in runs}

        return cls(only(inodes), only(members), only(recorded))

    def run_of(self, pid: int) -> str | None:
        """The run that a process belongs to; None for a stranger's, or one that has ended."""
        try:
            inode = os.stat(f"/proc/{pid}/ns/net").st_ino  # noqa: PTH116 (speed)
        except OSError:
            return None  # gone, or a zombie
        return (
            self.namespaces.get(inode)
            or self.members.get(pid)
            or self.recorded.get(pid)
            or self._run_of_view(pid)
        )

    def _run_of_view(self, pid: int) -> str | None:
        """By its mount namespace: the /run of a node's programs is the node's directory. Names of
        the node's network namespace may be gone."""
        try:
            view = os.stat(f"/proc/{pid}/ns/mnt").st_ino  # noqa: PTH116 (speed)
            if view not in self._views:
                self._views[view] = _mounted_run(Path(f"/proc/{pid}/mountinfo").read_text())
        except OSError:
            return None
        run_id = self._views[view]
        return run_id if run_id is not None and _is_of_our_namespace(pid) else None


def on_a_node() -> bool:
    """Whether this program runs on a node of a lab. Its /run is the node's: the owners of the
    machine's runs are not to be seen there."""
    return _mounted_run(Path("/proc/self/mountinfo").read_text()) is not None


def _mounted_run(mountinfo: str) -> str | None:
    """The run whose node's directory is mounted on /run."""
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split()[3:5]
        source = _FILE_SYSTEM.fullmatch(after.split()[1])
        if source and point == "/run" and _NODES_RUN.fullmatch(root):
            return source.group(1)
    return None


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _is_of_our_namespace(pid: int) -> bool:
    """False in another PID namespace: a user's run without root, or a container's. Its owner is not
    to be seen from here, and the kernel ends it with the first process there."""
    try:
        return Path(f"/proc/{pid}/ns/pid").samefile("/proc/self/ns/pid")
    except OSError:
        return False  # gone
