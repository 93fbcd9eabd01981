"""The owner of a run: it lets ``clean`` distinguish an active run from one that was killed.

The owner is the target of a symbolic link: the link is created with its content in one step, and
only by one process. A lab creates it first and removes it last.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from culvert.errors import LabError
from culvert.labs.namespace.places import RUNS, links_of, owner_link, run_directory

_RECORD = ".process"


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
        """Whether this process still runs."""
        return self == _process(self.pid)

    def __str__(self) -> str:
        return f"{self.pid}.{self.start_ticks}.{self.boot}"


def this_process() -> Owner:
    """This process; raises LabError where /proc does not show it."""
    me = _process(os.getpid())
    if me is None:
        raise LabError("/proc", "does not show this process", "mount proc on /proc")
    return me


def claim(run_id: str) -> None:
    """Make this process the run's owner; raises LabError if the run has one already."""
    me = this_process()
    for _ in range(3):
        RUNS.mkdir(mode=0o755, parents=True, exist_ok=True)
        try:
            owner_link(run_id).symlink_to(str(me))
        except FileNotFoundError:
            continue  # the last run of another process has just removed the directory
        except FileExistsError:
            raise LabError(
                f"run {run_id}", "is in use by another lab", "close that lab, or use another id"
            ) from None
        return
    raise LabError(str(RUNS), "is removed again and again", "find the process that removes it")


def owner_of(run_id: str) -> Owner | None:
    """The run's owner, dead or alive, or None if no process claimed it."""
    return _parsed(owner_link(run_id))


def _parsed(link: Path) -> Owner | None:
    try:
        return Owner.parse(link.readlink().name)
    except (OSError, ValueError):
        return None


def record(run_id: str, name: str, pid: int) -> None:
    """Remember a process that the run started outside of its namespaces, so that a clean-up can
    tell it from a stranger's: only root can write there. No error if it has ended."""
    process = _process(pid)
    if process is not None:
        link = run_directory(run_id) / f"{name}{_RECORD}"
        link.unlink(missing_ok=True)
        link.symlink_to(str(process))


def recorded(run_id: str) -> set[Owner]:
    """The processes that were remembered and run."""
    found = {_parsed(link) for link in links_of(run_id, _RECORD)}
    return {one for one in found if one is not None and one.alive()}


def others() -> set[Owner]:
    """The living owners of runs that are not this process, each once."""
    found = set()
    with suppress(OSError):
        for link in RUNS.glob("*.owner"):
            process = owner_of(link.name.removesuffix(".owner"))
            if process is not None and process.pid != os.getpid() and process.alive():
                found.add(process)
    return found


def release(run_id: str) -> None:
    """Release the run; removes Culvert's directory after the last run."""
    owner_link(run_id).unlink(missing_ok=True)
    try:
        RUNS.rmdir()
    except OSError:
        return  # other runs still exist


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
