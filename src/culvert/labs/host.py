"""A machine as a VPN driver sees it: what is there, and how programs are run. A few primitives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from culvert.errors import LabError, NotPossible


@dataclass(frozen=True)
class Completed:
    """A command that has ended."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str

    def require_success(self, where: str) -> None:
        """Raise LabError with its last words unless it ended with 0."""
        if self.returncode != 0:
            printed = (self.stderr or self.stdout).strip().splitlines()[-3:]
            raise LabError(
                f"{self.argv[0]} on {where}",
                " / ".join(printed) or "it printed nothing",
                f"it ended with exit code {self.returncode}",
            )


class Host(ABC):
    """Finds, reads and runs. A node is one; so is this machine without any lab."""

    name: str

    @abstractmethod
    def find(self, program: str) -> str | None:
        """The path of a program there, Culvert's own tools first; None where it is missing."""

    @abstractmethod
    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = 10.0,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a program to its end; raises LabError if ``check`` and it fails."""

    @abstractmethod
    def read(self, path: str) -> bytes:
        """The content of a file, /proc and /sys included; raises OSError."""

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Whether there is a file, directory or device of that name."""

    @abstractmethod
    def has(self, feature: str) -> bool:
        """Whether the machine has a feature, by the names of ``culvert doctor``."""

    # -- written once on top of these --------------------------------------------------------------

    def require(self, program: str, remedy: str) -> str:
        """The program's path; raises NotPossible with the remedy where it is missing."""
        path = self.find(program)
        if path is None:
            raise NotPossible(program, f"is not installed on {self.name}", remedy)
        return path

    def text(self, path: str) -> str:
        """A text file without the white space around it; raises OSError."""
        return self.read(path).decode(errors="replace").strip()

    @property
    def kernel_release(self) -> str:
        """Such as 6.16.3."""
        return self.text("/proc/sys/kernel/osrelease")
