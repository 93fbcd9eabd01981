"""What carries a guest kernel: the contract, and which one this machine can use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from culvert.labs.vm.job import Folder

NOT_COMPARABLE = "functional: speeds not comparable between kernel and user space"
"""The label of results from a vehicle on which system calls or all code are many times slower."""


class Vehicle(ABC):
    """One way to run a guest kernel."""

    name: ClassVar[str]
    comparable: ClassVar[bool]
    """Whether speeds of kernel and user space may be compared in it."""
    boot_deadline_s: ClassVar[float]

    @abstractmethod
    def missing(self) -> str | None:
        """Why it cannot be used here, with the remedy; None if it can."""

    def refusal(self) -> str | None:
        """Why nothing boots on it here though nothing is missing, found by trying; None if it may
        be taken."""
        return None

    @property
    @abstractmethod
    def kernel(self) -> str:
        """The kernel that will run, for people."""

    @abstractmethod
    def command(self, folder: Folder, *, terminal: bool, shares: int) -> Sequence[str]:
        """The program to run; its standard output is the guest's console."""

    def helpers(self, folder: Folder, shares: Sequence[str]) -> Sequence[Sequence[str]]:
        """Programs that have to run beside it, such as file servers."""
        del folder, shares
        return ()

    def awaited(self, folder: Folder, shares: int) -> Sequence[Path]:
        """Sockets that the helpers must have opened before the program starts."""
        del folder, shares
        return ()

    def environment(self, folder: Folder) -> dict[str, str]:
        """Variables that the program needs."""
        del folder
        return {}

    @property
    def label(self) -> str:
        """What stands beside every result; empty where nothing has to be said."""
        return "" if self.comparable else NOT_COMPARABLE
