"""Runs in directories; runs that are measured now."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from culvert.api.run import Run
from culvert.defect import FILE_VARIABLE, written_error
from culvert.errors import CulvertError
from culvert.journal.journal import Journal


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
    with tempfile.TemporaryDirectory(prefix="culvert-api-") as scratch:
        file = Path(scratch, "error.json")
        code = _printed(words, {**os.environ, FILE_VARIABLE: str(file)})
        error = written_error(file)
    if Journal.exists(target) and not (before and (error or not resume)):
        return Run(target)
    raise error or CulvertError("culvert run", f"exit code {code}", "see its output")


def _printed(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Print what a program prints, line by line; its exit code."""
    with subprocess.Popen(
        words,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as running:
        assert running.stdout is not None  # PIPE
        for line in running.stdout:
            print(line, end="", flush=True)
    return running.returncode


def _new(study: Path | str) -> Path:
    return Path("results") / f"{Path(study).stem}-{datetime.now():%Y%m%d-%H%M%S}"
