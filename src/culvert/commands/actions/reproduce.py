"""``culvert reproduce``: verify a bundle, run its study, and judge."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from culvert.bundle.verify import verify
from culvert.commands.actions.compare import share
from culvert.compare.sheet import markdown, render
from culvert.console import err, out, print_json
from culvert.errors import UsageError
from culvert.files.names import slug
from culvert.files.target import write
from culvert.journal.journal import Journal
from culvert.report.run_info import RunInfo
from culvert.reproduce.outcome import reproduction
from culvert.reproduce.words import document, sheet
from culvert.study.toml import read_toml

ALPHA = 0.05
STUDY = "study.toml"


@dataclass(frozen=True)
class Request:
    """The request of the command line; ``lab`` are the words that choose the lab."""

    bundle: Path
    directory: Path | None
    journal: Path | None
    lab: Sequence[str]
    tolerance: str


def reproduce(request: Request, *, as_json: bool, as_markdown: bool) -> bool:
    """Whether no trial failed and nothing is contradicted. Raises UsageError, JournalError."""
    tolerance = share(request.tolerance, "--tolerance")
    with TemporaryDirectory(prefix="culvert-reproduce-") as scratch:
        published = _unpacked(request.bundle, Path(scratch) / request.bundle.name)
        now, good = request.journal, True
        if now is None:
            now, good = _run(request, published, quiet=as_json or as_markdown)
        found = reproduction(published, now, name=request.bundle, tolerance=tolerance, alpha=ALPHA)
    if as_json:
        print_json(document(found))
    elif as_markdown:
        out.file.write(markdown(sheet(found)))
    else:
        out.print(render(sheet(found)))
    return good and not found.contradicted


def _unpacked(bundle: Path, into: Path) -> Path:
    """The directory of an unchanged bundle."""
    unpacked = bundle.is_dir()
    problems = verify(bundle, None if unpacked else into).problems
    if problems:
        raise UsageError(str(bundle), f"it was changed: {problems[0]}", "get it from its author")
    return bundle if unpacked else into


def _run(request: Request, published: Path, *, quiet: bool) -> tuple[Path, bool]:
    """Run the study into a new journal: its directory, and whether every trial is ok."""
    with Journal.open(published) as journal:
        run = RunInfo.from_journal(journal.run())
    if not run.toml:
        raise UsageError(
            str(request.bundle),
            "it has no study that could be run: another tool measured it",
            "import it with --study",
        )
    if read_toml(run.toml, STUDY)[0].get("build"):
        raise UsageError(
            str(request.bundle),
            "its study measures builds in directories of another machine",
            "build them here (culvert versions), then judge that run with --journal",
        )
    default = Path("results") / f"{slug(run.study)}-again-{datetime.now():%Y%m%d-%H%M%S}"
    directory = request.directory or default
    if Journal.exists(directory):
        raise UsageError(
            str(directory),
            "it already contains a journal",
            f"judge it with --journal {directory}, or choose another --out",
        )
    write(directory / STUDY, run.toml.encode())
    words = [sys.executable, "-m", "culvert", "run", str(directory / STUDY)]
    words += ["--out", str(directory), *request.lab]
    words += ["--scale", run.scale] if run.scale else []
    # A program of its own, as a run may start itself again with other privileges.
    code = subprocess.run(words, check=False, stdout=sys.stderr if quiet else None).returncode
    measured = Journal.exists(directory)
    if code not in (0, 1) or not measured:
        if measured:
            then = f"culvert reproduce {request.bundle} --journal {directory}"
            err.print(f"then judge it with: {then}", markup=False)
        raise typer.Exit(code or 1)
    return directory, code == 0
