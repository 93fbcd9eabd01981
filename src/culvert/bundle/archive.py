"""Archives: equal contents are written as equal bytes; archives are read as untrusted input."""

from __future__ import annotations

import gzip
import hashlib
import os
import secrets
import shutil
import subprocess
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from culvert.bundle.manifest import MOST_BYTES, NAME
from culvert.bundle.seal import Packing
from culvert.errors import NotPossible
from culvert.files.folder import OpenFolder, any_folder
from culvert.files.names import is_inside
from culvert.files.plain import open_plain

MOST_FILES = 10_000
MOST_CONTENT_BYTES = 1 << 36
MOST_EXPANSION = 200
"""Greatest compression ratio: deflate reaches 1032 to 1; bundles stay far below."""
LEAST_BYTES = 1 << 24
"""Greatest unpacked size of a small archive, at any compression ratio."""
MOST_HEADER_BYTES = 1 << 16
"""Greatest size of the extra header of a long name, which is read into memory."""
_EXTRA = {"path", "size"}
"""The keys that Culvert writes into such a header."""

_CHUNK = 1 << 20


class ArchiveError(Exception):
    """An archive that Culvert did not write; the text is the reason."""


def pack(members: Mapping[str, Path], folder: str, target: Path, packing: Packing) -> None:
    """Write files, sorted by name, into a folder of a new archive: no times, no owners."""
    with (
        target.open("xb") as file,
        _compressed(file, packing) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name in sorted(members):
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = members[name].stat().st_size
            entry.mode = 0o644
            with members[name].open("rb") as content:
                tar.addfile(entry, content)


def sums(path: Path, packing: Packing) -> tuple[dict[str, str], bytes]:
    """SHA-256 of every file except the manifest, by name, and the manifest. Raises ArchiveError."""
    found: dict[str, str] = {}
    manifest = b""
    try:
        for name, content in _members(path, packing):
            if name == NAME:
                manifest = content.read(MOST_BYTES)
                continue
            digest = hashlib.sha256()
            while chunk := content.read(_CHUNK):
                digest.update(chunk)
            found[name] = digest.hexdigest()
    except _BROKEN as error:
        raise ArchiveError(f"it cannot be unpacked: {error}") from error
    return found, manifest


_BROKEN = (tarfile.TarError, EOFError, OSError, ValueError, OverflowError, zlib.error)


def unpack(path: Path, packing: Packing, expected: Mapping[str, str], target: Path) -> None:
    """Write the files of an archive that was verified into a new directory: all or none.

    ``expected`` are the sums that ``sums`` found. Raises ArchiveError, OSError, and UsageError for
    a path through another user's link.
    """
    with any_folder(target.parent, make=True) as parent:
        name = f".{target.name}.{secrets.token_hex(4)}.part"
        part = parent.below(name)
        try:
            try:
                for member, content in _members(path, packing):
                    _write(part, member, content, expected.get(member))
            except _BROKEN as error:
                raise ArchiveError(f"it cannot be unpacked: {error}") from error
            os.rename(name, target.name, src_dir_fd=parent.descriptor, dst_dir_fd=parent.descriptor)
        except BaseException:
            shutil.rmtree(f"/proc/self/fd/{parent.descriptor}/{name}", ignore_errors=True)
            raise
        finally:
            part.close()


def _write(folder: OpenFolder, name: str, content: IO[bytes], expected: str | None) -> None:
    digest = hashlib.sha256()
    with folder.inside(name) as (below, last), below.writing(last) as file:
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
            file.write(chunk)
    if expected is not None and digest.hexdigest() != expected:
        raise ArchiveError(f"{name} was changed during unpacking")


class _Bounded:
    """A stream of at most so many bytes, counted before headers are parsed."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self._left = most

    def read(self, size: int = -1) -> bytes:
        chunk = self._stream.read(size)
        self._left -= len(chunk)
        if self._left < 0:
            raise ArchiveError(TOO_MUCH)
        return chunk


class _Entry(tarfile.TarInfo):
    """A header; for some types tarfile would read the stated length into memory, without a
    limit."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        """Where tarfile reads what a header announces; its newest versions do not call ``frombuf``.
        Raises ArchiveError for a type that Culvert does not write."""
        short = self.type == tarfile.XHDTYPE and self.size <= MOST_HEADER_BYTES
        if not short and self.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise ArchiveError(f"{self.name[:100]!r} does not belong in a bundle")
        entry: tarfile.TarInfo = super()._proc_member(tar)  # type: ignore[misc]
        return entry


TOO_MUCH = "it is larger than any bundle"


def _members(path: Path, packing: Packing) -> Iterator[tuple[str, IO[bytes]]]:
    """Names inside the archive's one folder, and contents. Nothing is written to disk."""
    most = most_content(path.stat().st_size)
    seen: set[str] = set()
    folders: set[str] = set()
    total = 0
    with (
        _decompressed(path, packing, most) as stream,
        tarfile.open(fileobj=stream, mode="r|", tarinfo=_Entry) as tar,  # type: ignore[call-overload]
    ):
        for entry in tar:
            folder, _, name = entry.name.partition("/")
            folders.add(folder)
            total += entry.size
            plain = entry.isreg() and entry.pax_headers.keys() <= _EXTRA
            if not plain or not is_inside(name) or folder in ("", ".."):
                raise ArchiveError(f"{entry.name[:100]!r} does not belong in a bundle")
            if name in seen:
                raise ArchiveError(f"{name} is in it twice")
            seen.add(name)
            if len(seen) > MOST_FILES or total > most or len(folders) > 1:
                raise ArchiveError(TOO_MUCH)
            content = tar.extractfile(entry)
            if content is not None:
                yield name, content
            tar.members.clear()  # tarfile keeps every member


def most_content(stored_bytes: int) -> int:
    """Greatest size of the files of a bundle that takes so many bytes on the disk."""
    return min(MOST_CONTENT_BYTES, LEAST_BYTES + MOST_EXPANSION * stored_bytes)


@contextmanager
def _compressed(file: IO[bytes], packing: Packing) -> Iterator[IO[bytes]]:
    if packing is Packing.GZIP:
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as stream:
            yield stream  # type: ignore[misc]
        return
    with _zstd("-q", "-10", "--check", "-c", stdin=subprocess.PIPE, stdout=file) as process:
        assert process.stdin is not None
        yield process.stdin
        process.stdin.close()
        if process.wait() != 0:
            raise OSError("zstd failed")


@contextmanager
def _decompressed(path: Path, packing: Packing, most: int) -> Iterator[_Bounded]:
    if packing is Packing.GZIP:
        with open_plain(path) as file, gzip.GzipFile(fileobj=file, mode="rb") as stream:
            bounded = _Bounded(stream, most)  # type: ignore[arg-type]
            yield bounded
            while bounded.read(_CHUNK):  # to the end, because the checksum is there
                pass
        return
    words = ("-q", "-dc", "--memory=128MB")
    with open_plain(path) as file, _zstd(*words, stdin=file, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        bounded = _Bounded(process.stdout, most)
        yield bounded
        while bounded.read(_CHUNK):
            pass
        if process.wait() != 0:
            raise OSError("zstd refuses it")


@contextmanager
def _zstd(
    *words: str, stdin: int | IO[bytes], stdout: int | IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    program = shutil.which("zstd")
    if program is None:
        raise NotPossible(
            ".tar.zst", "the program zstd is not installed", "install zstd, or write a .tar.gz"
        )
    process = subprocess.Popen(
        [program, *words], stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None and not pipe.closed:
                pipe.close()
