"""Resource usage of a process of this machine, and whether it is stopped, from /proc
(proc_pid_status(5), sched-stats)."""

from __future__ import annotations

import os
import re
from io import FileIO
from pathlib import Path

from culvert.labs.process import Usage


def usage_of(pid: int, proc: Path = Path("/proc")) -> Usage | None:
    """Usage of all its present threads; None if it has ended."""
    process = proc / str(pid)
    cpu_ns = voluntary = involuntary = 0
    try:
        for thread in (process / "task").iterdir():
            cpu_ns += int((thread / "schedstat").read_text().split()[0])
            status = (thread / "status").read_text()
            voluntary += _figure(status, "voluntary_ctxt_switches")
            involuntary += _figure(status, "nonvoluntary_ctxt_switches")
        peak_kb = _figure((process / "status").read_text(), "VmHWM")
    except (OSError, IndexError, ValueError):
        return None  # it ended while its files were read
    return Usage(cpu_ns, voluntary, involuntary, peak_kb * 1024)


def stopped(pid: int, proc: Path = Path("/proc")) -> list[int]:
    """The process and its descendants that are stopped or traced."""
    found = []
    process = f"{proc}/{pid}"
    try:
        state = _content(f"{process}/stat").rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return []  # it ended while its file was read
    if state in b"Tt":
        found.append(pid)
    for child in children(pid, proc):
        found += stopped(child, proc)
    return found


def children(pid: int, proc: Path = Path("/proc")) -> list[int]:
    """Those of all its threads; none if it has ended."""
    try:
        with os.scandir(f"{proc}/{pid}/task") as threads:
            return [
                int(child)
                for thread in threads
                for child in _content(f"{thread.path}/children").split()
            ]
    except (OSError, ValueError):
        return []


def cpu_groups(pid: int, proc: Path = Path("/proc")) -> dict[str, str]:
    """Paths of the control groups that limit a process's processor time (cgroups(7)), by their
    controllers (none in version 2); empty if it has ended."""
    try:
        lines = _content(f"{proc}/{pid}/cgroup").decode().splitlines()
    except OSError:
        return {}
    found = (line.split(":", 2) for line in lines if line.count(":") >= 2)
    return {
        controllers: path
        for _, controllers, path in found
        if {"", "cpu", "cpuset"} & {*controllers.split(",")}
    }


def _content(path: str) -> bytes:
    """A thousand clients have some ten thousand such files: no decoding, no pathlib.Path."""
    with FileIO(path) as file:
        return file.readall()


def _figure(status: str, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE)
    return int(found[1]) if found else 0
