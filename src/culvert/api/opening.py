"""Runs in directories; runs that are measured now."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from culvert.api.run import Run
from culvert.errors import CulvertError, NotPossible, UsageError
from culvert.journal.journal import Journal

_ERRORS = {one.exit_code: one for one in (UsageError, NotPossible)}


def open_run(path: Path | str) -> Run:
    """The run in a directory. Raises JournalError."""
    return Run(Path(path))


def measure(
    study: Path | str,
    directory: Path | str | None = None,
    *,
    scale: str = "",
    only: Sequence[str] = (),
    budget: str = "",
    resume: bool = False,
) -> Run:
    """Run a study and open its results, as ``culvert run`` does.

    ``study`` is a file or the name of a shipped study. ``directory`` gets the journal, otherwise a
    new one below ``results``. ``scale`` names a smaller edition; ``only`` are patterns of VPNs,
    conditions and measurements. ``budget`` is the time after which it ends, such as ``2min``;
    ``resume`` continues the run in ``directory``. A program of its own measures: it needs other
    privileges than a notebook, and Ctrl-C ends it with all that it made. What it prints comes here
    line by line.

    Raises CulvertError if the study is wrong or nothing can be measured here. Trials that failed
    are in the run's ``trials``.
    """
    target = Path(directory) if directory else _new(study)
    words = [sys.executable, "-m", "culvert", "run", str(study), "--out", str(target)]
    words += ["--scale", scale] if scale else []
    words += ["--budget", budget] if budget else []
    words += ["--resume"] if resume else []
    words += [word for pattern in only for word in ("--only", pattern)]
    before = Journal.exists(target)
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as running:
        assert running.stdout is not None  # PIPE
        said = []
        for line in running.stdout:
            print(line, end="", flush=True)
            said.append(line.rstrip("\n"))
    refused = any(line.startswith("error: ") for line in said) if resume else before
    if running.returncode == 0 or (not refused and Journal.exists(target)):
        return Run(target)
    raise _error(said, running.returncode)


def _new(study: Path | str) -> Path:
    return Path("results") / f"{Path(study).stem}-{datetime.now():%Y%m%d-%H%M%S}"


def _error(said: Sequence[str], code: int) -> CulvertError:
    """From the lines ``error: thing: reason`` and ``remedy: ...``."""
    found = {
        name: line.removeprefix(f"{name}: ")
        for line in said
        for name in ("error", "remedy")
        if line.startswith(f"{name}: ")
    }
    what, _, why = found.get("error", f"culvert run: exit code {code}").partition(": ")
    return _ERRORS.get(code, CulvertError)(what, why, found.get("remedy", "see its output"))
