"""Archives: written so that equal contents give equal bytes, read without trusting them."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import subprocess
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from culvert.bundle.manifest import MOST_BYTES, NAME, safe
from culvert.bundle.seal import Packing
from culvert.errors import NotPossible

MOST_FILES = 10_000
MOST_CONTENT_BYTES = 1 << 36
MOST_EXPANSION = 1000
"""Deflate reaches 1032 to 1; nothing that we write comes near."""

_CHUNK = 1 << 20


class ArchiveError(Exception):
    """An archive that is not as Culvert writes them; the text says why."""


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
    """SHA-256 of every file but the manifest, by name, and the manifest. Raises ArchiveError."""
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
    except (tarfile.TarError, EOFError, OSError, ValueError, zlib.error) as error:
        raise ArchiveError(f"it cannot be unpacked: {error}") from error
    return found, manifest


def unpack(path: Path, packing: Packing, target: Path) -> None:
    """Write the files of an archive that was verified into a new directory."""
    target.mkdir(parents=True)
    for name, content in _members(path, packing):
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("xb") as file:
            shutil.copyfileobj(content, file, _CHUNK)


def _members(path: Path, packing: Packing) -> Iterator[tuple[str, IO[bytes]]]:
    """Names inside the archive's one folder, and contents. Nothing is written anywhere."""
    most = min(MOST_CONTENT_BYTES, MOST_EXPANSION * path.stat().st_size)
    seen: set[str] = set()
    folders: set[str] = set()
    total = 0
    with _decompressed(path, packing) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        for entry in tar:
            folder, _, name = entry.name.partition("/")
            folders.add(folder)
            total += entry.size
            if not entry.isreg() or not (safe(name) or name == NAME) or folder in ("", ".."):
                raise ArchiveError(f"{entry.name!r} is nothing that a bundle holds")
            if name in seen:
                raise ArchiveError(f"{name} is in it twice")
            seen.add(name)
            if len(seen) > MOST_FILES or total > most or len(folders) > 1:
                raise ArchiveError("it holds more than a bundle does")
            content = tar.extractfile(entry)
            if content is not None:
                yield name, content


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
def _decompressed(path: Path, packing: Packing) -> Iterator[IO[bytes]]:
    if packing is Packing.GZIP:
        with gzip.open(path, "rb") as stream:
            yield stream  # type: ignore[misc]
            while stream.read(_CHUNK):  # to the end, where the checksum is
                pass
        return
    with path.open("rb") as file, _zstd("-q", "-dc", stdin=file, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.stdout
        while process.stdout.read(_CHUNK):
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
