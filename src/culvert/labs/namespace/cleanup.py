"""Find and remove what a run left behind: at the end of a lab, and after ``kill -9``.

Processes are found by what binds them to a run (``binding``), namespaces and control groups by what
a run recorded, or the mark in a namespace (``named``), its directory and its owner by name
(``places``).
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from culvert.errors import LabError
from culvert.labs.namespace import owner, syscalls
from culvert.labs.namespace.binding import Binding, on_a_node
from culvert.labs.namespace.named import group_runs, marked_owner, namespace_runs, unproved_names
from culvert.labs.namespace.places import RUNS, owner_link, run_directory
from culvert.machine import cgroup
from culvert.runid import RUN_ID
from culvert.waiting import wait_until

KILL_DEADLINE_S = 5.0
REMOVE_DEADLINE_S = 5.0


class LeftoverKind(StrEnum):
    """Kinds of remains of a run, in the order of their removal."""

    PROCESS = "process"
    CGROUP = "control group"
    NAMESPACE = "namespace"
    MOUNT = "mount"
    DIRECTORY = "directory"
    OWNER = "owner"


@dataclass(frozen=True)
class Leftover:
    """One remaining object of a run; ``name`` is a path, or for a process its id and program."""

    kind: LeftoverKind
    name: str
    run_id: str

    @property
    def pid(self) -> int:
        """The process id of a process."""
        return int(self.name.split()[0])


def find_leftovers(*, all_runs: bool = False) -> list[Leftover]:
    """All remains of runs whose owner is dead, in the order of removal; none on a lab's node, where
    owners are not to be seen.

    ``all_runs`` includes runs that are still active.
    """
    if not all_runs and on_a_node():
        return []
    processes = list(_processes())
    runs = {process.run_id for process in processes} | _named_runs()
    doomed = {run for run in runs if all_runs or not _goes_on(run)}
    found = [process for process in processes if process.run_id in doomed]
    for run_id in sorted(doomed):
        found += _things(run_id)
    order = list(LeftoverKind)
    return sorted(found, key=lambda leftover: order.index(leftover.kind))


def remove(leftover: Leftover) -> None:
    """Remove it; no error if it is gone already. Raises LabError if it stays."""
    try:
        _remove(leftover)
    except OSError as error:
        raise LabError(
            f"{leftover.kind} {leftover.name}",
            f"cannot be removed: {error.strerror or error}",
            "find the process that uses it, then run `culvert clean` again",
        ) from error


def remove_leftovers(*, all_runs: bool = False) -> list[Leftover]:
    """Find and remove all remains; return the removed ones."""
    leftovers = find_leftovers(all_runs=all_runs)
    for leftover in leftovers:
        remove(leftover)
    return leftovers


def unproved() -> list[str]:
    """Names of namespaces like those of runs, left because nothing proves that a run made them."""
    return [] if on_a_node() else [path.name for path in unproved_names()]


def left_by_root() -> list[str]:
    """Runs whose owner is dead, found by name, which works for every user of the machine."""
    return sorted(run for run in _named_runs() if not _goes_on(run))


def remove_run(run_id: str) -> None:
    """Remove everything of a run, whatever process owns it."""
    # A process may have started another one after the list was created.
    while processes := [process for process in _processes({run_id}) if process.run_id == run_id]:
        for process in processes:
            remove(process)
    for leftover in _things(run_id):
        remove(leftover)


def _remove(leftover: Leftover) -> None:
    path = Path(leftover.name)
    match leftover.kind:
        case LeftoverKind.PROCESS:
            _kill(leftover)
        case LeftoverKind.CGROUP:
            cgroup.remove(path)
        case LeftoverKind.NAMESPACE:
            wait_until(
                lambda: _released(path),
                what=f"the removal of namespace {path.name}",
                deadline_s=REMOVE_DEADLINE_S,
                remedy="find the process that uses it, then run `culvert clean` again",
            )
        case LeftoverKind.MOUNT:
            _unmount(path)
        case LeftoverKind.DIRECTORY:
            with suppress(FileNotFoundError):
                shutil.rmtree(path)
        case LeftoverKind.OWNER:
            owner.release(leftover.run_id)


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


def _kill(process: Leftover) -> None:
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        # The id may have been reused before the descriptor was opened; afterwards it cannot be.
        if Binding.now().run_of(process.pid) != process.run_id:
            return
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        wait_until(
            lambda: not _runs(process.pid),
            what=f"the end of process {process.name}",
            deadline_s=KILL_DEADLINE_S,
            remedy="it does not end after SIGKILL: see its state with ps",
        )
    finally:
        os.close(descriptor)


def _runs(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def _goes_on(run_id: str) -> bool:
    found = owner.owner_of(run_id) or marked_owner(run_id)
    return found is not None and found.alive()


def _named_runs() -> set[str]:
    """Runs that have a directory, an owner, a namespace or a control group."""
    runs = set()
    with suppress(OSError):
        for entry in RUNS.iterdir():
            name = entry.name.removesuffix(".owner")
            if re.fullmatch(RUN_ID, name):
                runs.add(name)
    return runs | set(namespace_runs().values()) | set(group_runs().values())


def _things(run_id: str) -> Iterator[Leftover]:
    """All remains of a run except its processes, in the order of removal."""
    for path, run in sorted(group_runs().items()):
        if run == run_id:
            yield Leftover(LeftoverKind.CGROUP, str(path), run_id)
    for path, run in sorted(namespace_runs().items()):
        if run == run_id:
            yield Leftover(LeftoverKind.NAMESPACE, str(path), run_id)
    directory = run_directory(run_id)
    for path in reversed(_mounts_below(directory)):
        yield Leftover(LeftoverKind.MOUNT, str(path), run_id)
    if directory.exists():
        yield Leftover(LeftoverKind.DIRECTORY, str(directory), run_id)
    if owner_link(run_id).is_symlink():
        yield Leftover(LeftoverKind.OWNER, str(owner_link(run_id)), run_id)


def _mounts_below(directory: Path) -> list[Path]:
    """Mount points at or below the directory, in the order of mounting."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = (Path(line.split()[4]) for line in lines)
    return [point for point in points if point.is_relative_to(directory)]


def _processes(runs: set[str] | None = None) -> Iterator[Leftover]:
    binding = Binding.now(runs)
    for pid in _pids():
        run_id = binding.run_of(pid)
        if run_id is not None and pid != os.getpid() and _runs(pid):
            yield Leftover(LeftoverKind.PROCESS, f"{pid} {_program(pid)}", run_id)


def _pids() -> Iterable[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 (speed)


def _program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "?"
