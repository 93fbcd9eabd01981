"""How busy the machine is with other work: a goal of speed holds on a calm one only."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from culvert.errors import NotPossible
from culvert.machine.record.memory import parse_steal
from culvert.trial.surroundings import MOST_STOLEN

LOOK_S = 2.0
MOST_OTHERS = 0.10
"""Share of the machine's CPU time that other programs may use before a goal begins."""
_STAT = Path("/proc/stat")
_HZ = os.sysconf("SC_CLK_TCK")
_USER, _NICE, _SYSTEM = 1, 2, 3
"""Fields of its first line (proc(5))."""


@dataclass(frozen=True)
class Load:
    """Shares of the machine's CPU time: of programs, and of what a hypervisor took."""

    programs: float
    stolen: float

    @property
    def calm(self) -> bool:
        """Whether a goal of speed may begin."""
        return self.programs <= MOST_OTHERS and self.stolen <= MOST_STOLEN

    def __str__(self) -> str:
        return (
            f"other programs use {self.programs:.0%} of the CPU time (at most {MOST_OTHERS:.0%}), "
            f"the hypervisor takes {self.stolen:.0%} (at most {MOST_STOLEN:.0%})"
        )


class Watch:
    """Counts from its creation on."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._programs_s, self._stolen_s = _programs_s(), stolen_s()

    def load(self) -> Load:
        """The shares since then."""
        room_s = (time.monotonic() - self._begun) * (os.cpu_count() or 1)
        programs_s, taken_s = _programs_s() - self._programs_s, stolen_s() - self._stolen_s
        return Load(programs_s / room_s, taken_s / room_s)


def require_calm(look_s: float = LOOK_S) -> None:
    """Raise NotPossible where other programs or a hypervisor use the processors. This process
    sleeps meanwhile."""
    watch = Watch()
    time.sleep(look_s)
    found = watch.load()
    if not found.calm:
        raise NotPossible(
            "a goal of speed", f"the machine is busy: {found}", "end other programs, then repeat it"
        )


def stolen_s() -> float:
    """CPU seconds that a hypervisor has taken from this machine."""
    return (parse_steal(_STAT.read_text()) or 0) / _HZ


def _programs_s() -> float:
    """CPU seconds of all programs since the start of the machine."""
    fields = _STAT.read_text().partition("\n")[0].split()
    return sum(int(fields[one]) for one in (_USER, _NICE, _SYSTEM)) / _HZ
