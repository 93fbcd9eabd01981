"""User Mode Linux: a kernel that runs as a program. It needs no root and no hardware support, but
its system calls are about thirty times slower than the machine's."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from culvert.labs.vm.build import GuestKernel, built
from culvert.labs.vm.hypervisor import Hypervisor
from culvert.labs.vm.job import Folder

MEMORY = "1536M"


class Uml(Hypervisor):
    """One CPU: with two, the speed of ESP falls to a hundredth."""

    name = "uml"
    comparable = False
    boot_deadline_s = 30.0

    def __init__(self, program: Path | None = None) -> None:
        self._given = program
        self._built: GuestKernel | None = None if program else built()

    def missing(self) -> str | None:
        """Checks that a kernel has been built."""
        if self._given is None and self._built is None:
            return "no User Mode Linux kernel has been built: culvert vm build"
        return None

    @property
    def program(self) -> Path:
        if self._given is not None:
            return self._given
        assert self._built is not None  # checked by missing()
        return self._built.program

    @property
    def kernel(self) -> str:
        if self._built is None:
            return str(self._given)
        return f"{self._built.release} ({self._built.source})"

    def command(self, folder: Folder, *, terminal: bool, shares: int) -> Sequence[str]:
        """seccomp=on: system calls are intercepted without ptrace, which is faster."""
        del shares
        consoles = "con0=fd:0,fd:1" if terminal else "con0=null,fd:1"
        return [
            str(self.program),
            f"mem={MEMORY}",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            f"init={folder.init}",
            f"culvert.job={folder.path}",
            "culvert.share=hostfs",
            f"culvert.python={sys.executable}",
            *(["culvert.terminal=tty0"] if terminal else []),
            "con=null",
            consoles,
            "quiet",
            "panic=-1",
            "seccomp=on",
        ]

    def environment(self, folder: Folder) -> dict[str, str]:
        """TMPDIR for its memory, an unlinked file, and HOME for its control socket."""
        memory = Path("/dev/shm")  # noqa: S108 - an unlinked file of its own
        return {
            "TMPDIR": str(memory if memory.is_dir() else folder.path),
            "HOME": str(folder.path),
        }
