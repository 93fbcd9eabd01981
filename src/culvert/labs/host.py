"""A machine as seen by a VPN driver: primitives to find files and features and to run programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from culvert.errors import LabError, NotPossible

Variables = Mapping[str, str]
"""Of a program's environment."""


@dataclass(frozen=True)
class Completed:
    """A command that has ended."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str

    @classmethod
    def decoded(
        cls, argv: Sequence[str], returncode: int | None, stdout: bytes, stderr: bytes
    ) -> Completed:
        """From bytes; ``returncode`` None: how it ended is unknown, which counts as a failure."""
        code = -1 if returncode is None else returncode
        return cls(
            tuple(argv), code, stdout.decode(errors="replace"), stderr.decode(errors="replace")
        )

    def require_success(self, where: str) -> None:
        """Raise LabError with its last lines of output unless it ended with 0."""
        if self.returncode != 0:
            printed = (self.stderr or self.stdout).strip().splitlines()[-3:]
            raise LabError(
                f"{self.argv[0]} on {where}",
                " / ".join(printed) or "it printed nothing",
                f"it ended with exit code {self.returncode}",
            )


def install_command(vpn: str) -> str:
    """What installs a VPN on this machine."""
    return f"culvert install {vpn}"


class Host(ABC):
    """Finds files, reads them and runs programs. Nodes are hosts, and so is this machine."""

    name: str

    @abstractmethod
    def find(self, program: str) -> str | None:
        """The path of a program there, Culvert's own tools first; None if it is missing."""

    @abstractmethod
    def execute(
        self, argv: Sequence[str], given: bytes | None, env: Variables | None, timeout_s: float
    ) -> Completed:
        """Run a program with this standard input until it ends, with whatever exit code. Raises
        DeadlineExceeded, LabError."""

    @abstractmethod
    def read(self, path: str) -> bytes:
        """The content of a file, /proc and /sys included; raises OSError."""

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Whether a file, directory or device of that name exists."""

    @abstractmethod
    def has(self, feature: str) -> bool:
        """Whether the machine has a feature; the names are those of ``culvert doctor``."""

    @property
    def label(self) -> str:
        """What an error of a program there names."""
        return self.name

    def how_to_install(self, vpn: str) -> str:
        """The command that installs a VPN there."""
        return install_command(vpn)

    # -- based on the primitives -------------------------------------------------------------------

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = 10.0,
        env: Mapping[str, str] | None = None,
        stdin: str | bytes | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a program until it ends; raises LabError if ``check`` and it fails."""
        given = stdin.encode() if isinstance(stdin, str) else stdin
        done = self.execute(argv, given, env, timeout_s)
        if check:
            done.require_success(self.label)
        return done

    def require(self, program: str, remedy: str) -> str:
        """The program's path; raises NotPossible with the remedy if it is missing."""
        path = self.find(program)
        if path is None:
            raise NotPossible(program, f"is not installed on {self.name}", remedy)
        return path

    def text(self, path: str) -> str:
        """A text file without the white space around it; raises OSError."""
        return self.read(path).decode(errors="replace").strip()

    @property
    def kernel_release(self) -> str:
        """The kernel's release, such as 6.16.3."""
        return self.text("/proc/sys/kernel/osrelease")
