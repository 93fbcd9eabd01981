"""From foreign files to a journal."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import polars as pl

from culvert import __version__
from culvert.errors import JournalError, UsageError, some
from culvert.files.target import write
from culvert.journal.connection import NoRoomError
from culvert.journal.journal import Journal
from culvert.journal.papers.kjorveziroski2024.order import number_in_time, recognised
from culvert.journal.papers.kjorveziroski2024.published import published_tables
from culvert.journal.papers.kjorveziroski2024.study import STUDY, as_studied, ids_of
from culvert.journal.readers.foreign_run import ForeignRun, Lost
from culvert.journal.readers.formats import ForeignFormat, reader
from culvert.journal.readers.naming import Naming, cleaned, plain
from culvert.journal.readers.reading import ForeignFile, foreign_files, name_of
from culvert.journal.readers.records import Number, as_found, in_order, trial_records
from culvert.journal.readers.sides import joined
from culvert.journal.record import RunHead, TrialRecord
from culvert.report.run_info import IMPORTED
from culvert.report.tables import without_hidden
from culvert.results import canonical_json
from culvert.study.shipped import find_study
from culvert.study.study import Study
from culvert.study.vpn_id import BASELINE
from culvert.units import plural
from culvert.vpns.registry import installed_catalogue

MOST_KEPT = 1000
"""Number of losses that the journal's environment lists; all are counted."""
_NAME = "imported-{form}"


@dataclass(frozen=True)
class ImportRequest:
    """The request of the command line."""

    form: ForeignFormat
    paths: Sequence[Path]
    directory: Path | None
    naming: Naming
    condition: str
    study: str = ""
    """The study with the claims to judge: a shipped study or a file."""


@dataclass(frozen=True)
class Imported:
    """The outcome of an import."""

    directory: Path
    trials: Sequence[TrialRecord]
    lost: Sequence[Lost]
    notes: Sequence[str]
    tables: Sequence[str]

    @property
    def exit_code(self) -> int:
        """1 if a part of the files is in no trial. Failed runs are data, not a failure."""
        return 1 if self.lost else 0


def import_files(request: ImportRequest) -> Imported:
    """Read the files, write the journal and the tables. Raises UsageError, JournalError.

    Nothing is written if the files contain no run.
    """
    files = foreign_files(request.paths)
    runs, lost, others = _read(request.form, files)
    runs, copies = _each_once(runs)
    runs, sides = joined(runs)
    if not runs:
        raise UsageError(
            f"import {request.form}",
            f"no run was found in {plural(len(files), 'file')}" + (f"; {lost[0]}" if lost else ""),
            "check that the format is the right one: culvert import --help",
        )
    known = ids_of(runs)
    study = _study(request, known=bool(known))
    ids = request.naming.knowing(known).resolve(run.name for run in runs)
    runs, notes, number = _ordered(runs)
    runs = as_studied(runs)
    if sides:
        notes.append(f"one run of two files: {some(list(dict.fromkeys(sides)))}")
    notes += [*copies, *dict.fromkeys(run.note for run in runs if run.note), *_names(ids)]
    if others:
        notes.append(f"ignored, as they contain no run of {request.form}: {some(others)}")
    trials = trial_records(runs, ids, request.condition, number)
    directory = request.directory or Path("results") / (
        f"{_NAME.format(form=request.form)}-{datetime.now():%Y%m%d-%H%M%S}"
    )
    with Journal.create(directory, _head(request, study, trials, lost, notes)) as journal:
        try:
            journal.record_all(trials)
            journal.finish("all files are read")
        except NoRoomError as error:
            raise JournalError(
                error.what,
                "the disk has no space for all runs: the journal is incomplete",
                f"free some disk space, remove {directory}, then import again",
            ) from error
        found = published_tables(journal.trials(), journal.rows())
    if found:
        _write_tables(directory, found)
    return Imported(directory, trials, lost, notes, list(found))


@dataclass(frozen=True)
class _Judged:
    """The study recorded in the journal: its text and its title."""

    text: str = ""
    title: str = ""


def _study(request: ImportRequest, *, known: bool) -> _Judged:
    """The user's study, or the shipped study of the paper that the data is from.

    Raises StudyError.
    """
    if request.study:
        study = Study.load(request.study, installed_catalogue())
        return _Judged(study.text, study.title)
    if not known:
        return _Judged()
    # A shipped study is valid: validating it again would take as long as reading the data.
    text = find_study(STUDY).read_text(encoding="utf-8")
    return _Judged(text, str(tomllib.loads(text)["title"]))


def _read(
    form: ForeignFormat, files: Sequence[ForeignFile]
) -> tuple[list[ForeignRun], list[Lost], list[str]]:
    """Runs, losses, and the names of other files in the same directories."""
    read = reader(form)
    several = len({file.path.parent for file in files}) > 1
    found = [(file, read(file.path)) for file in files]
    kinds = {file.path.suffix for file, one in found if one.runs}
    runs: list[ForeignRun] = []
    lost: list[Lost] = []
    others: list[str] = []
    for file, one in found:
        # Such as a README next to the data; a file with the data's suffix would be a damaged one.
        stray = kinds and not file.named and file.path.suffix not in kinds
        if not one.runs and (one.other or stray):
            others.append(file.shown)
            continue
        lost += [replace(each, file=file.shown) for each in one.lost]
        if not one.runs and not one.lost:
            lost.append(Lost(file.shown, 0, "it contains no run"))
        runs += [_named(run, file.path, file.shown, several=several) for run in one.runs]
    return runs, lost, others


def _named(run: ForeignRun, path: Path, shown: str, *, several: bool) -> ForeignRun:
    """A run without the name of its VPN gets the name of its directory, or of the file."""
    return replace(
        run,
        file=shown,
        name=run.name or (path.absolute().parent.name if several else name_of(path)),
    )


def _each_once(runs: Sequence[ForeignRun]) -> tuple[list[ForeignRun], list[str]]:
    """Two copies of a document are one run. Only a run with a time can be recognised: two pings
    without an answer have the same text."""
    first: dict[str, ForeignRun] = {}
    notes: list[str] = []
    found: list[ForeignRun] = []
    for run in runs:
        content = _sha256(repr(replace(run, file="", line=0, name="")))
        kept = first.setdefault(content, run)
        if kept is run or run.started_at is None:
            found.append(run)
        else:
            notes.append(f"{run.file}:{run.line} is a copy of {kept.file}:{kept.line}")
    return found, [f"counted once: {some(notes)}"] if notes else []


def _ordered(runs: list[ForeignRun]) -> tuple[list[ForeignRun], list[str], Number]:
    if recognised(runs):
        note = (
            "these are the runs of kjorveziroski2024: they are numbered in the order of their "
            "times, which the authors' JSON contains; the rows of the file are in another order"
        )
        return runs, [note], number_in_time
    ordered, timed = in_order(runs)
    if timed:
        return ordered, ["runs are numbered in the order of their times"], as_found
    note = "not every run has a time: runs are numbered in the order of the files"
    return ordered, [note], as_found


def _names(ids: dict[str, str]) -> list[str]:
    bare = {vpn: plain(name) for name, vpn in ids.items() if vpn == BASELINE and name != BASELINE}
    others = [vpn for vpn in ids.values() if vpn.startswith(f"{BASELINE}/")]
    notes = [f'the baseline "{vpn}" is {name}' for vpn, name in bare.items()]
    if others:
        notes.append(
            f"further runs without a VPN: {', '.join(others)} "
            "(--baseline NAME selects another baseline)"
        )
    if BASELINE not in ids.values():
        notes.append(
            "no baseline, so VPNs are not compared with a link without one (--baseline NAME)"
        )
    return notes


def _head(
    request: ImportRequest,
    study: _Judged,
    trials: Sequence[TrialRecord],
    lost: Sequence[Lost],
    notes: list[str],
) -> RunHead:
    name = _NAME.format(form=request.form)
    vpns = sorted({trial.vpn for trial in trials})
    files = sorted({str(trial.evidence["imported"]["file"]) for trial in trials})
    imported = {
        "format": str(request.form),
        "files": files,
        "notes": notes,
        "lost": [str(one) for one in lost[:MOST_KEPT]],
        "lost_count": sum(one.count for one in lost),
        "proof": "none: Culvert did not observe this traffic",
    }
    canonical = canonical_json({"name": name, "vpns": vpns, "files": files, "lab": IMPORTED})
    return RunHead(
        study=name,
        title=f"Imported from {request.form}: {study.title or plural(len(files), 'file')}",
        toml=study.text,
        canonical=canonical,
        digest=_sha256(canonical),
        seed=1,
        lab=IMPORTED,
        culvert_version=__version__,
        environment={"imported": imported},
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _write_tables(directory: Path, found: Mapping[str, pl.DataFrame]) -> None:
    try:
        for name, table in found.items():
            write(directory / "tables" / f"{name}.csv", without_hidden(table).write_csv().encode())
    except OSError as error:
        what = str(directory / "tables")
        why = f"it cannot be written: {error.strerror}"
        raise UsageError(what, why, "free some disk space, then import again") from error


def checked_condition(name: str) -> str:
    """The user's name for the condition. Raises UsageError if it is not a valid name."""
    if name != cleaned(name):
        raise UsageError(f"--condition '{name}'", "is not a name", "use letters, digits and dashes")
    return name
