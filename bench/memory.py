"""The memory that processes hold, pages that several share divided among them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

KIB = 1024


def family(pid: int) -> list[int]:
    """A process and its descendants."""
    children: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children += map(int, file.read_text().split())
        except OSError:
            continue
    return [pid, *(each for child in children for each in family(child))]


def bytes_of(pids: Iterable[int]) -> int:
    """The proportional set sizes (proc_pid_smaps(5)) of all; of one that has ended none."""
    return sum(map(_bytes_of, pids))


def _bytes_of(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    found = [line.split()[1] for line in lines if line.startswith("Pss:")]
    return int(found[0]) * KIB if found else 0
