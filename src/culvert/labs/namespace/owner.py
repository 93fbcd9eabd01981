"""A process of this machine, told from later ones of the same id."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from culvert.errors import LabError


@dataclass(frozen=True)
class Owner:
    """A process; its start and the boot distinguish it from later ones of the same id."""

    pid: int
    start_ticks: int
    boot: str

    @classmethod
    def parse(cls, text: str) -> Owner:
        """From its text; raises ValueError."""
        pid, ticks, boot = text.split(".")
        return cls(int(pid), int(ticks), boot)

    def alive(self) -> bool:
        return self == _process(self.pid)

    def __str__(self) -> str:
        return f"{self.pid}.{self.start_ticks}.{self.boot}"


def this_process() -> Owner:
    """This process; raises LabError where /proc does not show it."""
    me = _process(os.getpid())
    if me is None:
        raise LabError("/proc", "does not show this process", "mount proc on /proc")
    return me


def _process(pid: int) -> Owner | None:
    try:
        # The name of the program, field 2, may hold spaces and parentheses.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    if fields[0] in "ZX":
        return None
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return Owner(pid, int(fields[19]), boot)
