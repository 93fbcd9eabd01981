"""The control groups of a cluster's node: one in each hierarchy, the only ones its pods are in."""

from __future__ import annotations

from collections.abc import Sequence

from culvert.errors import NotPossible
from culvert.machine import cgroup
from culvert.machine.cgroup import MountedHierarchy

_WHAT = "control groups for pods"
_COPIED = ("cpuset.cpus", "cpuset.mems")
"""Empty in a new group of version 1, which then accepts no process."""
_NEEDED = ("cpu", "memory", "pids")
_OF_THE_KUBELET = (*_NEEDED, "cpuset", "hugetlb")
"""In version 2 its group must have those of them that the first group has (kubernetes,
pkg/kubelet/cm/cgroup_v2_manager_linux.go)."""


def name_of(run_id: str, node: str) -> str:
    """The group's name in every hierarchy."""
    return f"culvert-{run_id}-pods-{node}"


def make(name: str) -> list[str]:
    """Create the groups; returns the hierarchies as the node's first process takes them.

    Raises NotPossible if the machine's groups lack a controller, or none can be made in them.
    """
    try:
        return _made(name)
    except OSError as error:
        raise NotPossible(
            _WHAT,
            f"{error.filename}: {error.strerror}",
            "run it on the host, or in a container with --privileged --cgroupns=host",
        ) from error


def _made(name: str) -> list[str]:
    mounted = cgroup.hierarchies()
    first = [each for each in mounted if each.version == 1]
    if first:
        _require(_NEEDED, {word for each in first for word in each.controllers})
        for each in first:
            _make_first(each, name)
        return [f"{_option(each)}:{each.path.name}" for each in first]
    second = [each for each in mounted if each.version == 2]
    if not second:
        raise NotPossible("control groups", "none are mounted", "mount cgroup2 on /sys/fs/cgroup")
    (unified,) = second
    there, below = (
        set((unified.path / f"cgroup.{file}").read_text().split())
        for file in ("controllers", "subtree_control")
    )
    _require([word for word in _OF_THE_KUBELET if word in there or word in _NEEDED], below)
    (unified.path / name).mkdir(exist_ok=True)
    cgroup.hold(unified.path / name)
    return [f"unified:{unified.path}"]


def remove(name: str) -> None:
    """Remove them, with those that the kubelet made in them."""
    for each in cgroup.hierarchies():
        cgroup.remove(each.path / name)


def _make_first(hierarchy: MountedHierarchy, name: str) -> None:
    group = hierarchy.path / name
    group.mkdir(exist_ok=True)
    cgroup.hold(group)
    for file in _COPIED:
        if (group / file).exists():
            (group / file).write_text((hierarchy.path / file).read_text())


def _option(hierarchy: MountedHierarchy) -> str:
    words = ",".join(hierarchy.controllers)
    return f"none,{words}" if words.startswith("name=") else words


def _require(needed: Sequence[str], found: set[str]) -> None:
    missing = [word for word in needed if word not in found]
    if missing:
        enable = " ".join(f"+{word}" for word in missing)
        raise NotPossible(
            _WHAT,
            f"this machine's have no controller {', '.join(missing)}",
            f"echo {enable} | sudo tee /sys/fs/cgroup/cgroup.subtree_control, or boot a kernel "
            "that has it",
        )
