"""The zip file of a bundle: equal contents give equal bytes; it is read as a stranger's."""

from __future__ import annotations

import hashlib
import io
import shutil
import stat
import struct
import zlib
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path, PurePosixPath
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from culvert.bundle.manifest import MOST_BYTES, NAME
from culvert.files.names import is_inside
from culvert.files.plain import open_plain
from culvert.files.target import make_directory, replacing

SUFFIX = ".zip"
MAGIC = b"PK\x03\x04"
"""The first bytes of a zip file that is not empty."""
MOST_FILES = 10_000
MOST_CONTENT_BYTES = 1 << 36
MOST_EXPANSION = 200
"""Greatest compression ratio: deflate reaches 1032 to 1; bundles stay far below."""
LEAST_BYTES = 1 << 24
"""Greatest unpacked size of a small archive, at any compression ratio."""
TOO_MUCH = "it is larger than any bundle"

_MOST_DIRECTORY_BYTES = 1 << 21
"""Greatest size of the archive's list of members: zipfile reads it into memory."""
_CHUNK = 1 << 20
_BROKEN = (
    BadZipFile, EOFError, OSError, OverflowError, RuntimeError, ValueError, struct.error, zlib.error
)  # fmt: skip
"""What zipfile raises for archives that are damaged, encrypted or of another kind."""


class ArchiveError(Exception):
    """The archive is damaged, or not written by Culvert; the text is the reason."""


def pack(members: Mapping[str, Path], folder: str, target: Path) -> None:
    """Write files, sorted by name, into a folder of a new archive, without times and owners."""
    with ZipFile(target, "x") as archive:
        for name in sorted(members):
            entry = ZipInfo(f"{folder}/{name}")
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            entry.file_size = members[name].stat().st_size
            with members[name].open("rb") as content, archive.open(entry, "w") as file:
                shutil.copyfileobj(content, file, _CHUNK)


def read(path: Path, into: Path | None = None) -> tuple[dict[str, str], bytes]:
    """SHA-256 of every file except the manifest, by name, and the manifest.

    Each file is written into ``into`` as well, if that is given. Raises ArchiveError.
    """
    sums: dict[str, str] = {}
    manifest = b""
    try:
        with closing(_Bounded(open_plain(path).detach())) as file, ZipFile(file) as archive:
            for name, entry in _members(archive, path.stat().st_size).items():
                digest = _copied(archive, entry, name, into)
                if name != NAME:
                    sums[name] = digest
                    continue
                with archive.open(entry) as content:
                    manifest = content.read(MOST_BYTES)
    except _BROKEN as error:
        raise ArchiveError(f"it cannot be unpacked: {error}") from error
    return sums, manifest


def most_content(stored_bytes: int) -> int:
    """Greatest size of the files of a bundle that takes so many bytes on the disk."""
    return min(MOST_CONTENT_BYTES, LEAST_BYTES + MOST_EXPANSION * stored_bytes)


class _Bounded(io.BufferedReader):
    """A file of which no large part is read at once, whatever length its content states."""

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > _MOST_DIRECTORY_BYTES:
            raise ArchiveError(TOO_MUCH)
        return super().read(size)


def _members(archive: ZipFile, stored_bytes: int) -> dict[str, ZipInfo]:
    """The files by their names in the archive's one folder. None of them is unpacked yet."""
    entries = archive.infolist()
    # zipfile unpacks no more of a member than its stated size.
    size = sum(entry.file_size for entry in entries)
    if len(entries) > MOST_FILES or size > most_content(stored_bytes):
        raise ArchiveError(TOO_MUCH)
    members: dict[str, ZipInfo] = {}
    folders = set()
    for entry in entries:
        folder, _, name = entry.filename.partition("/")
        folders.add(folder)
        regular = stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)
        packed = entry.compress_type in (ZIP_STORED, ZIP_DEFLATED)
        if not (regular and packed and is_inside(name)) or folder in ("", ".."):
            raise ArchiveError(f"{entry.filename[:100]!r} does not belong in a bundle")
        if name in members:
            raise ArchiveError(f"{name} is in it twice")
        members[name] = entry
    if len(folders) > 1:
        raise ArchiveError("it has more than one folder")
    above = {str(one) for name in members for one in PurePosixPath(name).parents}
    if both := sorted(above & members.keys()):
        raise ArchiveError(f"{both[0]} is a file and a folder")
    return members


def _copied(archive: ZipFile, entry: ZipInfo, name: str, into: Path | None) -> str:
    """The SHA-256 sum of a member that is written into a folder, if one is given."""
    digest = hashlib.sha256()
    with archive.open(entry) as content:
        if into is None:
            while chunk := content.read(_CHUNK):
                digest.update(chunk)
            return digest.hexdigest()
        make_directory((into / name).parent)
        with replacing(into / name) as file:
            while chunk := content.read(_CHUNK):
                digest.update(chunk)
                file.write(chunk)
    return digest.hexdigest()
