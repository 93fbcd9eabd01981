"""The contents of a bundle, written into a directory from only the journal."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from culvert.errors import UsageError
from culvert.journal.journal import FILE, Journal
from culvert.report.model import gather
from culvert.report.run_info import RunInfo
from culvert.report.tables import tables

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""A study's name; any other text could be a path."""
_SECRET = re.compile(rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----|OpenVPN Static key V1")


def write_contents(source: Path, target: Path) -> str:
    """Write every file of the bundle except the manifest; return the bundle's name.

    Raises JournalError for a damaged journal, UsageError if it contains a secret.
    """
    with Journal.open(source) as journal:
        run, rows, trials = journal.run(), journal.rows(), journal.trials()
        histograms, series = journal.histograms(), journal.series()
        journal.snapshot(target / FILE)
    data = gather(RunInfo.from_journal(run), rows, trials, histograms, series)
    _text(target / "study.toml", run["toml"])
    _text(target / "study.json", run["canonical"] + "\n")
    machine = {
        "environment": run["environment"],
        "sessions": run["sessions"],
        "installs": run["installs"],
    }
    _text(target / "environment.json", json.dumps(machine, indent=1, sort_keys=True) + "\n")
    with (target / "evidence.jsonl").open("w", encoding="utf-8") as file:
        for trial, evidence in trials.select("trial", "evidence").iter_rows():
            line = evidence.replace("\r", " ").replace(
                "\n", " "
            )  # JSON has them between words only
            file.write(f'{{"trial":{trial},"evidence":{line}}}\n')
    (target / "tables").mkdir()
    for name, table in tables(data).items():
        _text(target / "tables" / f"{name}.csv", table.write_csv())
    _refuse_secrets(source, target)
    begun = re.sub(r"[^0-9T]", "", str(run["started_at"])[:19])
    name = run["study"] if _NAME.fullmatch(run["study"]) else "run"
    return f"{name}-{begun}"


def files(directory: Path) -> Iterator[tuple[str, Path]]:
    """Every file below a directory by its name in the bundle, a directory's in order."""
    for folder, folders, names in os.walk(directory):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        folders.sort()
        for name in sorted((*names, *links)):
            path = Path(folder, name)
            yield path.relative_to(directory).as_posix(), path


def _text(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogatepass"))


def _refuse_secrets(source: Path, target: Path) -> None:
    """Secrets should never be in the journal; if one is, it is not published."""
    for name, path in files(target):
        with path.open("rb") as file:
            before = b""
            while chunk := file.read(1 << 20):
                if _SECRET.search(before + chunk):
                    raise UsageError(
                        f"the journal in {source}",
                        f"{name} would contain a private key",
                        "remove it from the study; if it was not there, report it as a defect",
                    )
                before = chunk[-64:]
