"""How many members of a VPN fit on a machine whose kernel all nodes of a lab share.

Ports cannot run out: each node has those of its own network namespace.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from culvert.errors import NotPossible
from culvert.labs import guest
from culvert.machine.record.memory import read_memory
from culvert.machine.tree import Tree
from culvert.privilege import machine_proc
from culvert.study.conditions.processors import cores
from culvert.topology.graph import Role, Topology
from culvert.topology.spec import LabSpec

if TYPE_CHECKING:  # beside this module, not below it
    from culvert.labs.host import Host

NODE_BYTES = 1 << 20
"""Memory of a namespace with its links and its thread: 0.7 MB measured."""
DESCRIPTORS_OF_A_NODE = 6
"""Open files: a namespace and its sockets (4 measured), a process of the VPN, a moment's pipe."""
OWN_DESCRIPTORS = 256
"""The journal, probes, and what starts at the same time."""
WATCHERS = "/proc/sys/fs/inotify/max_user_instances"


class Occupant(Protocol):
    """What a lab has to know of a VPN to tell whether its members fit: ``memory_bytes`` and
    ``watchers`` (instances of inotify) are those of a member."""

    memory_bytes: int
    watchers: int

    @property
    def id(self) -> str: ...


@dataclass(frozen=True)
class Machine:
    """The resources for labs. ``cores`` are the CPUs that may be used, by physical core; the rest
    is what is left of it, None if unknown."""

    cores: Sequence[tuple[int, ...]]
    memory_bytes: int | None = None
    descriptors: int | None = None
    """The most open files of this process."""
    watchers: int | None = None
    """Instances of inotify(7) that this user can still make."""
    hosts: Sequence[Host] = ()

    @classmethod
    def here(cls) -> Machine:
        """This machine, or the guest that this process runs in."""
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        permitted = Tree().number(WATCHERS)
        return cls(
            guest.processors(cores()),
            read_memory(Tree()).available_bytes,
            most,
            None if permitted is None else max(permitted - watchers_in_use(), 0),
        )

    def require(self, vpn: Occupant, spec: LabSpec) -> None:
        """Raise NoRoom if the VPN's members do not fit on it, with the largest number that does."""
        topology = spec.topology
        members = len(topology.members)
        limit = min(_limits(vpn, topology, self), key=lambda one: one.members, default=None)
        if limit is None or members <= limit.members:
            return
        gateways = len(topology.of_role(Role.GATEWAY))
        word, least = ("clients", 1) if gateways else ("members", 2)
        fitting = limit.members - gateways
        fewer = f", or use at most {fitting} {word}" if fitting >= least else ""
        raise NoRoom(
            f'{vpn.id} on topology "{topology.name}" with {members - gateways} {word}',
            limit.why,
            f"{limit.remedy}{fewer}",
        )


def descriptors_of(nodes: int) -> int:
    """How many open files of this process a lab of so many nodes takes."""
    return OWN_DESCRIPTORS + DESCRIPTORS_OF_A_NODE * nodes


def permit(nodes: int) -> None:
    """Raise this process's own limit, as far as it may, for a lab of so many nodes. Most systems
    permit 1,024 by default and many more on request."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(descriptors_of(nodes), hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class NoRoom(NotPossible):
    """A topology has more nodes than there is room for."""


@dataclass(frozen=True)
class _Limit:
    """The most members for which a resource suffices."""

    members: int
    why: str
    remedy: str


def _limits(vpn: Occupant, topology: Topology, machine: Machine) -> Iterator[_Limit]:
    nodes, members = len(topology.nodes), len(topology.members)
    others = nodes - members
    if machine.memory_bytes is not None:
        wanted = nodes * NODE_BYTES + members * vpn.memory_bytes
        yield _Limit(
            (machine.memory_bytes - others * NODE_BYTES) // (NODE_BYTES + vpn.memory_bytes),
            f"they take about {wanted >> 20} MB of memory, {machine.memory_bytes >> 20} MB are "
            "available",
            "use a machine with more memory",
        )
    if machine.descriptors is not None:
        wanted = descriptors_of(nodes)
        yield _Limit(
            (machine.descriptors - OWN_DESCRIPTORS) // DESCRIPTORS_OF_A_NODE - others,
            f"they take about {wanted} open files, {machine.descriptors} are permitted",
            f"raise the limit (ulimit -Hn {wanted})",
        )
    if machine.watchers is not None and vpn.watchers:
        wanted = vpn.watchers * members
        yield _Limit(
            machine.watchers // vpn.watchers,
            f"their programs take {wanted} instances of inotify, this user can make "
            f"{machine.watchers} more",
            f"raise the limit (sysctl -w fs.inotify.max_user_instances={2 * wanted})",
        )


def watchers_in_use() -> int:
    """Instances of inotify(7) of this user's processes."""
    proc, found = machine_proc(), 0
    for process in proc.iterdir():
        if not process.name.isdecimal():
            continue
        with suppress(OSError):  # it has ended, or is another user's
            if process.stat().st_uid == os.geteuid():
                found += sum(_watches(each) for each in (process / "fd").iterdir())
    return found


def _watches(descriptor: Path) -> bool:
    try:
        return descriptor.readlink() == Path("anon_inode:inotify")
    except OSError:  # it was closed
        return False
