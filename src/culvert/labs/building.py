"""Builds of programs that take minutes: one at a time, with room on the disk, ended as a whole."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from culvert.errors import CulvertError, NotPossible
from culvert.files.target import locked

LOG = "build.log"
_LOCK = ".lock"
_PLACE = Path("/var/tmp")  # noqa: S108 - a private folder is made in it
_SHOWN_LINES = 4
PROGRESS_S = 20.0


def roomy(needed_bytes: int) -> Path:
    """A directory with room for sources and objects: not /tmp, which may be in memory."""
    if shutil.disk_usage(_PLACE).free < needed_bytes:
        raise NotPossible(
            f"the build in {_PLACE}",
            f"needs {needed_bytes >> 30} GB of free space",
            "free some space there",
        )
    return _PLACE


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Prevent two builds for this directory at once: each would take twice as long."""
    with locked(directory / _LOCK):
        yield


def run_step(
    argv: Sequence[str],
    directory: Path,
    *,
    what: str,
    remedy: str,
    environment: Mapping[str, str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Run a step of a build, in its own process group so that an interrupt ends all of it.

    ``environment`` is added to this process's. ``progress`` is called every PROGRESS_S seconds with
    the number of lines printed so far. Raises CulvertError with the last of them.
    """
    with (directory / LOG).open("wb") as log:
        process = subprocess.Popen(
            argv,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            process_group=0,
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
        )
        try:
            while (code := _ended(process)) is None:
                if progress is not None:
                    progress(_lines(directory / LOG))
        except BaseException:
            os.killpg(process.pid, 9)
            process.wait()
            raise
    if code:
        lines = (directory / LOG).read_text("utf-8", "replace").strip().splitlines()
        raise CulvertError(what, " | ".join(lines[-_SHOWN_LINES:]), remedy)


def _ended(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(PROGRESS_S)
    except subprocess.TimeoutExpired:
        return None


def _lines(log: Path) -> int:
    with log.open("rb") as written:
        return sum(1 for _ in written)
