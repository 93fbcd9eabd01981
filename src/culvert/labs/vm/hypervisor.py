"""A hypervisor runs a guest kernel: the contract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from culvert.labs.guest import Guest
from culvert.labs.vm.job import Folder

NOT_COMPARABLE = "functional: speeds not comparable between kernel and user space"
"""The label of results from a hypervisor with system calls or all code slowed down many times."""


class Hypervisor(ABC):
    """One way to run a guest kernel."""

    name: ClassVar[str]
    comparable: ClassVar[bool]
    """Whether speeds of kernel and user space in it are comparable."""
    boot_deadline_s: ClassVar[float]

    @abstractmethod
    def missing(self) -> str | None:
        """Why it cannot be used here, and the remedy; None if it can."""

    def refusal(self) -> str | None:
        """Why no guest boots on it here though its requirements are met, found by booting one; None
        if one boots."""
        return None

    @property
    @abstractmethod
    def kernel(self) -> str:
        """A description of the kernel that will run."""

    @abstractmethod
    def command(self, folder: Folder, *, terminal: bool, shares: int) -> Sequence[str]:
        """The program to run; its standard output is the guest's console."""

    def helpers(self, folder: Folder, shares: Sequence[str]) -> Sequence[Sequence[str]]:
        """Programs that must run at the same time, such as file servers."""
        del folder, shares
        return ()

    def awaited(self, folder: Folder, shares: int) -> Sequence[Path]:
        """Sockets that the helpers must open before the program starts."""
        del folder, shares
        return ()

    def environment(self, folder: Folder) -> dict[str, str]:
        del folder
        return {}

    @property
    def guest(self) -> Guest:
        """The properties of its guest, for the commands in it."""
        return Guest(self.name, self.kernel, "" if self.comparable else NOT_COMPARABLE)
