"""Remove what a lab made: at its end, and after its process was killed.

Commands run in a PID and a mount namespace of their own (``machine.rootless``): what is killed
there leaves nothing but control groups. A lab that Python code opens elsewhere leaves its names and
its directory, and no process.
"""

from __future__ import annotations

import errno
import os
import select
import shutil
import signal
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
                _kill(int(leftover.name))
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
    """Remove everything of a run but its claim. Its processes have ended: they die with the process
    that started them, and with the first one of a node's PID namespace."""
    for group in sorted(path for path, run in cgroup.runs().items() if run == run_id):
        cgroup.remove(group)
    for path in sorted(NAMESPACES.glob(namespace_name(run_id, "*"))):
        wait_until(
            partial(_released, path),
            what=f"the removal of namespace {path.name}",
            deadline_s=REMOVE_DEADLINE_S,
            remedy="find the process that uses it, then run `culvert clean` again",
        )
    directory = run_directory(run_id)
    if directory.is_mount():
        _unmount(directory)
    with suppress(FileNotFoundError):
        shutil.rmtree(directory)


def _kill(pid: int) -> None:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        # The id may have been reused before the descriptor was opened; afterwards it cannot be.
        if pid not in rootless.enclosing():
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
    """Unmount it, with all below; no error if nothing is mounted there (any more)."""
    try:
        syscalls.unmount(path)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOENT):
            raise
