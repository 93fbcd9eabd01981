"""A control group for each node, which limits its programs to a share of the processors.

::

    /sys/fs/cgroup/cpu/culvert-RUN-NODE      version 1 (admin-guide/cgroup-v1, sched-bwc.rst)
    /sys/fs/cgroup/culvert-RUN-NODE          version 2 (admin-guide/cgroup-v2.rst)

and without root below the nearest group above this process that is delegated to the user.

The kernel lets the group run for the quota in each period, then stops it until the next. The
kernel's own work (softirq, kernel threads) is not in the group and is not limited.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from culvert.errors import LabError, NotPossible
from culvert.machine import held
from culvert.privilege import is_root
from culvert.runid import RUN_ID
from culvert.waiting import wait_until

PERIOD_US = 10_000
LONG_PERIOD_US = 100_000
"""The kernel's default period, for quotas below the minimum of the short period."""
LEAST_QUOTA_US = 1000
GONE_DEADLINE_S = 5.0
_MOUNT_OPTIONS = frozenset({"rw", "ro", "xattr", "clone_children", "noprefix", "none"})
_NAME = re.compile(rf"culvert-({RUN_ID})-[a-z0-9-]+")
_descriptors: dict[Path, int] = {}
"""Of the groups that this process holds."""


@dataclass(frozen=True)
class Hierarchy:
    """Where groups of the controller ``cpu`` are made."""

    path: Path
    version: int


@dataclass(frozen=True)
class ControlGroup:
    """A group that exists."""

    path: Path
    version: int

    @property
    def members(self) -> Path:
        """The file to which a process is added."""
        return self.path / "cgroup.procs"

    def limit(self, cpus: float) -> None:
        """Limit the group to this number of processors at a time; raises LabError."""
        period_us = PERIOD_US if cpus * PERIOD_US >= LEAST_QUOTA_US else LONG_PERIOD_US
        quota_us = round(cpus * period_us)
        try:
            if self.version == 2:
                (self.path / "cpu.max").write_text(f"{quota_us} {period_us}")
            else:
                (self.path / "cpu.cfs_period_us").write_text(str(period_us))
                (self.path / "cpu.cfs_quota_us").write_text(str(quota_us))
        except OSError as error:
            raise _refused(self.path, error) from error
        if self.read() != (quota_us, period_us):
            raise LabError(str(self.path), f"its limit is {self.read()}", "see `culvert doctor`")

    def read(self) -> tuple[int, int]:
        """Quota and period in microseconds, as the kernel reports them; raises LabError."""
        names = ("cpu.max",) if self.version == 2 else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        try:
            words = " ".join((self.path / name).read_text() for name in names).split()
            return int(words[0]), int(words[1])
        except (OSError, ValueError, IndexError) as error:
            raise LabError(str(self.path), f"its limit: {error}", "open the lab again") from error


@dataclass(frozen=True)
class MountedHierarchy(Hierarchy):
    """One of the mounted hierarchies; ``controllers`` are empty in version 2, and ``name=systemd``
    for one without controllers in version 1."""

    controllers: tuple[str, ...] = ()


def hierarchies(mountinfo: Path = Path("/proc/self/mountinfo")) -> list[MountedHierarchy]:
    """All mounted hierarchies, in the order of mounting, each once."""
    found: dict[tuple[str, ...], MountedHierarchy] = {}
    for line in mountinfo.read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        path = Path(before.split()[4])
        if kind == "cgroup":
            words = tuple(word for word in options.split(",") if word not in _MOUNT_OPTIONS)
            found.setdefault(words, MountedHierarchy(path, 1, words))
        elif kind == "cgroup2":
            found.setdefault((), MountedHierarchy(path, 2))
    return list(found.values())


def hierarchy(mountinfo: Path = Path("/proc/self/mountinfo")) -> Hierarchy | None:
    """Version 1's if it has the controller, else version 2's; None if neither has it."""
    every = hierarchies(mountinfo)
    for version in (1, 2):
        for one in every:
            words = one.controllers if version == 1 else _words(one.path / "cgroup.controllers")
            if one.version == version and "cpu" in words:
                return Hierarchy(one.path, version)
    return None


def place(cgroups: Path = Path("/proc/self/cgroup")) -> Hierarchy | None:
    """The group below which this process may create groups: any group as root, otherwise one that
    the user may write to and that, in version 2, delegates the controller. Without one, the
    hierarchy."""
    where = hierarchy()
    if where is None or is_root():
        return where
    for path in _groups_above(where, cgroups.read_text()):
        handed_out = where.version == 1 or "cpu" in _words(path / "cgroup.subtree_control")
        if handed_out and os.access(path, os.W_OK):
            return Hierarchy(path, where.version)
    return where


def _groups_above(where: Hierarchy, cgroups: str) -> Iterator[Path]:
    """The group of this process and its parents, from the lines of /proc/PID/cgroup."""
    for line in cgroups.splitlines():
        _, controllers, path = line.split(":", 2)
        if (controllers == "") if where.version == 2 else ("cpu" in controllers.split(",")):
            own = where.path / path.lstrip("/")
            yield own
            yield from (above for above in own.parents if above.is_relative_to(where.path))


def make(name: str) -> ControlGroup:
    """Create the group ``culvert-RUN-NODE``. Raises NotPossible without quotas."""
    where = place()
    if where is None:
        raise NotPossible(
            "a CPU quota", "no cgroup with the controller cpu is mounted", "mount cgroup2"
        )
    group = ControlGroup(where.path / name, where.version)
    try:
        if where.version == 2 and "cpu" not in _words(where.path / "cgroup.subtree_control"):
            (where.path / "cgroup.subtree_control").write_text("+cpu")
        group.path.mkdir()
    except OSError as error:
        raise _refused(group.path, error) from error
    hold(group.path)
    if not (group.path / ("cpu.max" if where.version == 2 else "cpu.cfs_quota_us")).exists():
        remove(group.path)
        raise NotPossible(
            "a CPU quota",
            "this kernel does not support it",
            "use a kernel with CONFIG_CFS_BANDWIDTH",
        )
    return group


@contextmanager
def trial(name: str) -> Iterator[ControlGroup]:
    """A group that leaves nothing behind: its parent's delegated controllers are restored as
    well."""
    where = place()
    control = where.path / "cgroup.subtree_control" if where and where.version == 2 else None
    handed_out = control is None or "cpu" in _words(control)
    group = make(name)
    try:
        yield group
    finally:
        remove(group.path)
        if control is not None and not handed_out:
            control.write_text("-cpu")


def is_of_a_lab(path: str) -> bool:
    """Whether a lab made the group, to limit a node as a condition requests."""
    return _NAME.fullmatch(Path(path).name) is not None


def runs() -> dict[Path, str]:
    """The run of each group that a lab has created, in every hierarchy. Groups that this user
    cannot remove are another user's, whose runs this one does not see."""
    where = place()
    if where is None:
        return {}
    places = {where.path, *(each.path for each in hierarchies())} if is_root() else {where.path}
    named = [path for place in sorted(places) for path in place.glob("culvert-*")]
    groups = [path for path in named if os.access(path, os.W_OK)]
    found = {path: _NAME.fullmatch(path.name) for path in groups}
    return {path: match[1] for path, match in found.items() if match}


def abandoned() -> list[Path]:
    """Groups that a killed run left: nobody holds them, and no process is in them."""
    return sorted(path for path in runs() if not held.is_held(path) and not members([path]))


def hold(path: Path) -> None:
    """Hold a group until it is removed, or until this process ends."""
    _descriptors[path] = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    held.hold(_descriptors[path])


def members(groups: Iterable[Path]) -> set[int]:
    """The processes in groups and in those below them."""
    below = (each for group in groups for each in _with_groups_below(group))
    return {int(pid) for each in below for pid in _words(each / "cgroup.procs")}


def _with_groups_below(path: Path) -> list[Path]:
    """A group and those in it; one that is removed meanwhile is left out."""
    return [Path(folder) for folder, _, _ in os.walk(path)]


def remove(path: Path) -> None:
    """Remove the group, and the groups in it, after the last process has ended. No error if there
    is no group."""

    def removed() -> bool:
        for each in sorted(_with_groups_below(path)[1:], reverse=True):
            _removed(each)
        return _removed(path)

    wait_until(
        removed,
        what=f"the end of the last process in {path}",
        deadline_s=GONE_DEADLINE_S,
        remedy="stop the processes in its file cgroup.procs, then run `culvert clean`",
    )
    if path in _descriptors:
        os.close(_descriptors.pop(path))


def _removed(path: Path) -> bool:
    try:
        path.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _refused(path: Path, error: OSError) -> NotPossible:
    return NotPossible(
        "a CPU quota",
        f"{error.filename or path}: {error.strerror or error}",
        "let Culvert create control groups: run as root on the host, or delegate one to the user "
        "(systemd-run --user --scope --property=Delegate=cpu culvert ...)",
    )
