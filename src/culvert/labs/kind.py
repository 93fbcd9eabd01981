"""The contract of a lab as a plug-in: what a run asks of the place that its nodes come from.

A package registers a lab by the entry point ``culvert.labs``: the name that users write after
``--lab``, and a subclass of LabKind. What only some labs are or can do is a class of its own here;
general code asks for it by ``isinstance``, never by a lab's name.
"""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:  # options are read before anything that takes long is imported
    from culvert.labs.base import Lab
    from culvert.labs.host import Host
    from culvert.labs.room import Occupant
    from culvert.study.study import Study
    from culvert.topology.spec import LabSpec


@dataclass(frozen=True)
class LabOption:
    """An option of ``culvert run`` that one lab has, such as ``--inventory FILE``."""

    name: str
    """Without dashes in front."""
    help: str
    metavar: str = ""
    """Empty: a flag."""
    default: str = ""


@dataclass(frozen=True)
class Place:
    """``cores`` are the CPUs for which a study's requests are computed; ``real_links``: the links
    are measured before each block, not made. ``require`` raises NotPossible for a lab, servers of
    the VPN included: NoRoom if not all nodes fit; ``begin`` starts what takes long. ``hosts`` are
    the machines of all nodes; empty: they are not known before a lab is open."""

    make_lab: Callable[[LabSpec], Lab]
    cores: Sequence[tuple[int, ...]]
    real_links: bool = False
    require: Callable[[Occupant, LabSpec], object] = lambda _vpn, _spec: None
    begin: Callable[[], object] = lambda: None
    hosts: Sequence[Host] = ()


class LabKind(ABC):
    """A lab with the options that a user gave."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """What its nodes are, in a few words for a help text."""
    options: ClassVar[Sequence[LabOption]] = ()
    seen_at: ClassVar[str] = ""
    """Where its proofs look at traffic, if not on the links between the nodes: "on ..."."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        """``given`` are options by name, without those at their default. Raises UsageError."""
        self.given = dict(given)

    def begin(self) -> None:
        """Start what takes long, while the rest of the run is prepared. Raises UsageError."""
        return

    @abstractmethod
    def open(self, study: Study) -> AbstractContextManager[Place]:
        """The place of a run's nodes, for as long as the run lasts; for ``--dry-run`` nothing of it
        is used but ``cores``, ``require`` and ``hosts``."""

    def words(self) -> list[str]:
        """The lab and its options as written on the command line."""
        words = ["--lab", self.name]
        for option in self.options:
            value = self.given.get(option.name)
            if value:
                words += [f"--{option.name}", *([str(value)] if option.metavar else [])]
        return words

    def __str__(self) -> str:
        return shlex.join(self.words())


class OnThisMachine(LabKind):
    """Its nodes run on the processors of this machine and share its kernel."""


class InNamespaces(LabKind):
    """This process makes network namespaces: it enters a PID namespace of its own first, without
    root a user namespace too."""


class OfPods(LabKind):
    """Its nodes are pods: conditions may place them, and a cluster lies below them."""


class Elsewhere(LabKind):
    """The whole command runs in another place."""

    @abstractmethod
    def is_here(self) -> bool:
        """Whether this process runs in that place already."""

    @abstractmethod
    def run(self, arguments: Sequence[str], directory: Path) -> int:
        """Run ``culvert`` with these arguments there; the exit code. ``directory`` is the run's."""
