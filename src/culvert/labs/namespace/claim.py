"""The claim of a process on a run. A lab makes it first and releases it last."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from culvert.errors import LabError
from culvert.labs.namespace.places import RUNS
from culvert.machine.held import hold, is_held
from culvert.runid import RUN_ID

_LOCK = re.compile(rf"({RUN_ID})\.lock")


@dataclass(frozen=True)
class Claim:
    """This process's claim, which ends with the process at the latest."""

    run_id: str
    descriptor: int

    def release(self) -> None:
        """Give it up, after everything else of the run is gone."""
        release(self.run_id)
        os.close(self.descriptor)


def claim(run_id: str) -> Claim:
    """Claim the run; raises LabError if there is one of this id already."""
    RUNS.mkdir(mode=0o755, parents=True, exist_ok=True)
    # Held before it has a name: nobody sees a run that is not held.
    descriptor = os.open(RUNS, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        hold(descriptor)
        _name(descriptor, _lock(run_id))
    except OSError as error:
        os.close(descriptor)
        if not isinstance(error, FileExistsError):
            raise
        raise LabError(
            f"run {run_id}", "is in use by another lab", "close that lab, or use another id"
        ) from None
    return Claim(run_id, descriptor)


def _name(descriptor: int, path: Path) -> None:
    descriptors = os.open("/proc/self/fd", os.O_PATH | os.O_CLOEXEC)
    try:
        # Without a directory Python's link() does not follow the symbolic link.
        os.link(str(descriptor), path, src_dir_fd=descriptors, follow_symlinks=True)
    finally:
        os.close(descriptors)


def release(run_id: str) -> None:
    """Remove the claim of a process that has ended."""
    _lock(run_id).unlink(missing_ok=True)


def claimed() -> dict[str, bool]:
    """The runs of labs that are seen from here, and whether their processes are alive: not those in
    mount namespaces of their own, which leave nothing."""
    with suppress(OSError):
        found = {match[1] for path in RUNS.iterdir() if (match := _LOCK.fullmatch(path.name))}
        return {run_id: is_held(_lock(run_id)) for run_id in sorted(found)}
    return {}


def _lock(run_id: str) -> Path:
    return RUNS / f"{run_id}.lock"
