"""Writes the bundle of a run: its journal and evidence in one sealed file."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from culvert.bundle import manifest
from culvert.bundle.archive import pack
from culvert.bundle.contents import files, write_contents
from culvert.bundle.seal import Packing, seal
from culvert.errors import UsageError
from culvert.files.plain import open_plain
from culvert.files.target import replacing

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Bundled:
    """A written bundle. ``sha256`` is that of the whole archive."""

    path: Path
    files: int
    size_bytes: int
    sha256: str


def bundle(directory: Path, target: Path | None) -> Bundled:
    """Write a bundle of a run; the same journal gives the same bytes. Raises UsageError."""
    packing = Packing.GZIP if target is None else Packing.of_name(target)
    if packing is None:
        suffixes = " or ".join(one.suffix for one in Packing)
        raise UsageError(
            str(target), "its suffix does not name a compression", f"end in {suffixes}"
        )
    if target is not None:
        refuse_present(target)
    with tempfile.TemporaryDirectory(prefix="culvert-bundle-") as scratch:
        name = write_contents(directory, Path(scratch))
        members = dict(files(Path(scratch)))
        content = manifest.write({one: sha256(path) for one, path in members.items()})
        listing = Path(scratch) / manifest.NAME
        listing.write_bytes(content)
        target = target or Path(f"{name}{packing.suffix}")
        refuse_present(target)
        packed = Path(scratch) / "packed"
        try:
            pack({**members, manifest.NAME: listing}, name, packed, packing)
            seal(packed, packing)
            with packed.open("rb") as content_, replacing(target) as file:
                shutil.copyfileobj(content_, file, _CHUNK)
        except OSError as error:
            raise UsageError(
                str(target),
                f"it cannot be written: {error.strerror or error}",
                "choose another path, or free disk space",
            ) from error
    return Bundled(target, len(members) + 1, target.stat().st_size, sha256(target))


def sha256(path: Path) -> str:
    """In hex."""
    digest = hashlib.sha256()
    with open_plain(path) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def refuse_present(path: Path) -> None:
    """Raises UsageError if there is something at the path."""
    if path.exists() or path.is_symlink():
        raise UsageError(str(path), "it already exists", "choose another name, or remove it")
