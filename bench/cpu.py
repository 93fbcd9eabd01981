"""What a process has spent, whoever made it: the same figure for the probe and for its peers."""

from __future__ import annotations

import os
from pathlib import Path

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
SPENT = slice(11, 15)
"""utime, stime, cutime and cstime of proc_pid_stat(5), counted behind the name."""


def cpu_s(pid: int) -> float:
    """Seconds on a CPU, of all its threads and of children that it waited for.

    The kernel scales them to the scheduler's own clock; the resolution is a tick. A process that
    has ended can be read until it is reaped.
    """
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[SPENT])) * TICK_S
