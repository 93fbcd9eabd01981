"""Remove what a lab made: at its end, and after its process was killed.

Commands run in a PID and a mount namespace of their own (``machine.rootless``): what is killed
there leaves nothing but control groups. A lab that Python code opens elsewhere leaves the rest.
"""

from __future__ import annotations

import errno
import os
import re
import select
import shutil
import signal
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from culvert.errors import LabError
from culvert.labs.namespace import syscalls
from culvert.labs.namespace.claim import claimed, release
from culvert.labs.namespace.places import NAMESPACES, namespace_name, run_directory
from culvert.machine import cgroup, rootless
from culvert.waiting import wait_until

KILL_DEADLINE_S = 5.0
REMOVE_DEADLINE_S = 5.0


class LeftoverKind(StrEnum):
    """Kinds of remains, in the order of their removal."""

    PROCESS = "process"
    RUN = "run"
    CGROUP = "control group"


@dataclass(frozen=True)
class Leftover:
    """``name`` is a run's id, the path of a control group, or a process id."""

    kind: LeftoverKind
    name: str


def find_leftovers() -> list[Leftover]:
    """What killed runs left that this user can see."""
    return [
        *(Leftover(LeftoverKind.RUN, run_id) for run_id, alive in claimed().items() if not alive),
        *(Leftover(LeftoverKind.CGROUP, str(path)) for path in cgroup.abandoned()),
    ]


def active() -> list[Leftover]:
    """Root's active runs."""
    return [
        *(Leftover(LeftoverKind.PROCESS, str(pid)) for pid in rootless.enclosing()),
        *(Leftover(LeftoverKind.RUN, run_id) for run_id, alive in claimed().items() if alive),
    ]


def remove(leftover: Leftover) -> None:
    """Remove it; no error if it is gone already. Raises LabError if it stays."""
    try:
        match leftover.kind:
            case LeftoverKind.PROCESS:
                _kill(int(leftover.name), lambda pid: pid in rootless.enclosing())
            case LeftoverKind.RUN:
                remove_run(leftover.name)
                release(leftover.name)
            case LeftoverKind.CGROUP:
                cgroup.remove(Path(leftover.name))
    except OSError as error:
        raise LabError(
            f"{leftover.kind} {leftover.name}",
            f"cannot be removed: {error.strerror or error}",
            "find the process that uses it, then run `culvert clean` again",
        ) from error


def remove_run(run_id: str) -> None:
    """Remove everything of a run but its claim, whatever process owns it."""
    names = sorted(NAMESPACES.glob(namespace_name(run_id, "*")))
    groups = sorted(path for path, run in cgroup.runs().items() if run == run_id)
    _end_processes(_Members(run_id, names, groups))
    for group in groups:
        cgroup.remove(group)
    for path in names:
        wait_until(
            partial(_released, path),
            what=f"the removal of namespace {path.name}",
            deadline_s=REMOVE_DEADLINE_S,
            remedy="find the process that uses it, then run `culvert clean` again",
        )
    directory = run_directory(run_id)
    for path in reversed(_mounts_below(directory)):
        _unmount(path)
    with suppress(FileNotFoundError):
        shutil.rmtree(directory)


class _Members:
    """The processes in these namespaces and control groups, and those whose /run is a node's: they
    may have left its network namespace."""

    def __init__(self, run_id: str, names: Iterable[Path], groups: Sequence[Path]) -> None:
        self._namespaces = {inode for path in names if (inode := _inode(path)) is not None}
        self._groups = groups
        # 99 1 0:26 /a/run /run rw,nosuid shared:1 - tmpfs culvert-ab12 rw,mode=700
        self._node = re.compile(rf"^\S+ \S+ \S+ /[a-z0-9-]+/run /run .* culvert-{run_id} ", re.M)

    def now(self) -> list[int]:
        """All but this process."""
        in_groups, views = cgroup.members(self._groups), dict[int | None, bool]()
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 (speed)
        return [pid for pid in pids if pid != os.getpid() and self._has(pid, in_groups, views)]

    def has(self, pid: int) -> bool:
        return self._has(pid, cgroup.members(self._groups), {})

    def _has(self, pid: int, in_groups: Set[int], views: dict[int | None, bool]) -> bool:
        """``views``: whether /run is a node's, by mount namespace, as known from this look: when a
        namespace has ended, the next one of anybody may have its number."""
        network = _inode(f"/proc/{pid}/ns/net")
        if network is None:
            return False  # gone, or a zombie
        view = _inode(f"/proc/{pid}/ns/mnt")
        if view not in views:
            views[view] = self._is_on_a_node(pid)
        return network in self._namespaces or pid in in_groups or views[view]

    def _is_on_a_node(self, pid: int) -> bool:
        with suppress(OSError):
            return self._node.search(Path(f"/proc/{pid}/mountinfo").read_text()) is not None
        return False


def _end_processes(members: _Members) -> None:
    # A process may have started another one after the list was created.
    while found := members.now():
        for pid in found:
            _kill(pid, members.has)


def _inode(path: Path | str) -> int | None:
    try:
        return os.stat(path).st_ino  # noqa: PTH116 (speed)
    except OSError:
        return None


def _kill(pid: int, belongs: Callable[[int], bool]) -> None:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        # The id may have been reused before the descriptor was opened; afterwards it cannot be.
        if not belongs(pid):
            return
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        wait_until(
            lambda: bool(ended.poll(0)),
            what=f"the end of process {pid}",
            deadline_s=KILL_DEADLINE_S,
            remedy="it does not end after SIGKILL: see its state with ps",
        )
    finally:
        os.close(descriptor)


def _released(namespace: Path) -> bool:
    """Whether it is removed now; EBUSY: it is mounted, here or where mounts propagate from."""
    _unmount(namespace)  # not mounted if the run was killed right after creating the file
    try:
        namespace.unlink(missing_ok=True)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
    return not namespace.exists()


def _unmount(path: Path) -> None:
    """Unmount it; no error if nothing is mounted there (any more)."""
    try:
        syscalls.unmount(path)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOENT):
            raise


def _mounts_below(directory: Path) -> list[Path]:
    """Mount points at or below the directory, in the order of mounting."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = (Path(line.split()[4]) for line in lines)
    return [point for point in points if point.is_relative_to(directory)]
