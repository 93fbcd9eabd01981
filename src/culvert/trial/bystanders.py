"""CPU time of the machine's other programs, as a run in a PID namespace of its own sees it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from culvert.privilege import init_outside, machine_proc

KTHREADD = 2
"""The first kernel thread, and the parent of all others."""
_PARENT, _USER, _CHILDREN_SYSTEM = 1, 11, 14
"""Fields of /proc/PID/stat (proc_pid_stat(5)) behind the name, counted from 0."""


@dataclass(frozen=True)
class _Process:
    pid: int
    parent: int
    used_s: float
    """With that of children that have ended and were waited for."""


class Bystanders:
    """All processes outside of our PID namespace, from the creation of this object on."""

    def __init__(self) -> None:
        self._begun_s, self._before_s = time.monotonic(), used_s()

    def cpus(self) -> float | None:
        """CPUs that they have used since, on average; None without a PID namespace of our own.

        A process that ends while /proc is read counts twice or not at all, with all that it had
        used before: hence the bounds.
        """
        now_s = used_s()
        if now_s is None or self._before_s is None:
            return None
        elapsed_s = time.monotonic() - self._begun_s
        return min(max((now_s - self._before_s) / elapsed_s, 0.0), os.cpu_count() or 1)


def used_s() -> float | None:
    """CPU seconds that processes outside of our PID namespace have used since their start, with
    their children that ended; without kernel threads. None without a PID namespace of our own."""
    init = init_outside()
    if init is None:
        return None
    processes = {process.pid: process for process in _processes()}

    def is_foreign(process: _Process | None) -> bool:
        while process is not None and process.pid not in (init, KTHREADD):
            process = processes.get(process.parent)
        return process is None

    return sum(process.used_s for process in processes.values() if is_foreign(process))


def _processes() -> Iterator[_Process]:
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    for process in machine_proc().glob("[0-9]*"):
        try:
            text = (process / "stat").read_text(errors="replace")
        except OSError:  # it has ended
            continue
        fields = text.rpartition(")")[2].split()
        ticks = sum(map(int, fields[_USER : _CHILDREN_SYSTEM + 1]))
        yield _Process(int(process.name), int(fields[_PARENT]), ticks * tick_s)
