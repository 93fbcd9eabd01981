"""Writes the bundle of a run: its journal, and what is made of only the journal, in one file."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from culvert.bundle import manifest
from culvert.bundle.archive import SUFFIX, pack
from culvert.bundle.crate import NAME as CRATE
from culvert.bundle.crate import crate
from culvert.bundle.signature import sign, signature_of
from culvert.errors import UsageError
from culvert.files.names import slug
from culvert.files.plain import open_plain
from culvert.files.target import replacing
from culvert.journal.journal import FILE, Journal
from culvert.report.model import gather
from culvert.report.run_info import RunInfo
from culvert.report.tables import tables

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
    (target / CRATE).write_bytes(crate(run, dict(files(target))))
    _refuse_secrets(source, target)
    begun = re.sub(r"[^0-9T]", "", str(run["started_at"])[:19])
    return f"{slug(run['study'])}-{begun}"


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
                        "remove it from the study; if the study has none, report a defect",
                    )
                before = chunk[-64:]


_CHUNK = 1 << 20


@dataclass(frozen=True)
class Bundled:
    """A written bundle. ``files`` are counted without MANIFEST; ``sha256`` is that of the whole
    archive; ``signature`` is its file."""

    path: Path
    files: int
    size_bytes: int
    sha256: str
    signature: Path | None = None


def bundle(directory: Path, target: Path | None, key: Path | None = None) -> Bundled:
    """Write a bundle of a run; the same journal gives the same bytes. ``key`` signs it.

    Raises UsageError.
    """
    if target is not None:
        if target.suffix != SUFFIX:
            raise UsageError(str(target), "a bundle is a zip file", f"end its name in {SUFFIX}")
        refuse_present(target)
    with tempfile.TemporaryDirectory(prefix="culvert-bundle-") as scratch:
        name = write_contents(directory, Path(scratch))
        members = dict(files(Path(scratch)))
        content = manifest.write({one: sha256(path) for one, path in members.items()})
        listing = Path(scratch) / manifest.NAME
        listing.write_bytes(content)
        target = target or Path(f"{name}{SUFFIX}")
        refuse_present(target)
        packed = Path(scratch) / "packed"
        try:
            pack({**members, manifest.NAME: listing}, name, packed)
            signature = sign(packed, key) if key is not None else b""
            with packed.open("rb") as content_, replacing(target) as file:
                shutil.copyfileobj(content_, file, _CHUNK)
            if signature:
                with replacing(signature_of(target)) as file:
                    file.write(signature)
        except OSError as error:
            raise UsageError(
                str(target),
                f"it cannot be written: {error.strerror or error}",
                "choose another path, or free disk space",
            ) from error
    signed = signature_of(target) if signature else None
    return Bundled(target, len(members), target.stat().st_size, sha256(target), signed)


def sha256(path: Path) -> str:
    """In hex."""
    with open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_present(path: Path) -> None:
    """Raises UsageError if there is something at the path."""
    if path.exists() or path.is_symlink():
        raise UsageError(str(path), "it already exists", "choose another name, or remove it")
