"""The seal: the SHA-256 sum of an archive at its own end, where unpacking programs ignore it.

A checksum of the contents does not cover every byte of an archive: headers have unused fields, and
compressed streams have bits that decode to nothing. The seal covers them.

- ``.tar.gz``: one more member, empty, with the sum in its extra field (RFC 1952, section 2.3.1.1);
- ``.tar.zst``: a skippable frame (RFC 8878, section 3.1.2).
"""

from __future__ import annotations

import hashlib
from enum import Enum
from pathlib import Path

from culvert.files.plain import open_plain

_CHUNK = 1 << 20
_SUM = 32


class Packing(Enum):
    """How the tar file is compressed: the file's suffix, its magic, and what frames the seal."""

    GZIP = (
        ".tar.gz",
        b"\x1f\x8b",
        # magic, deflate, FEXTRA, no time, no flags, no system; 36 bytes extra: "CV", 32 bytes
        bytes.fromhex("1f8b0804 00000000 00ff 2400") + b"CV" + bytes.fromhex("2000"),
        # an empty block, its CRC-32, its size
        bytes.fromhex("0300 00000000 00000000"),
    )
    ZSTD = (
        ".tar.zst",
        bytes.fromhex("28b52ffd"),
        bytes.fromhex("502a4d18 20000000"),
        b"",
    )

    def __init__(self, suffix: str, magic: bytes, before: bytes, after: bytes) -> None:
        self.suffix = suffix
        self.magic = magic
        self.before = before
        self.after = after

    @property
    def seal_bytes(self) -> int:
        return len(self.before) + _SUM + len(self.after)

    @classmethod
    def of_name(cls, path: Path) -> Packing | None:
        return next((one for one in cls if path.name.endswith(one.suffix)), None)

    @classmethod
    def of_content(cls, path: Path) -> Packing | None:
        with open_plain(path) as file:
            begin = file.read(4)
        return next((one for one in cls if begin.startswith(one.magic)), None)


def seal(path: Path, packing: Packing) -> None:
    """Append the seal to an archive."""
    digest = _sum(path, path.stat().st_size)
    with path.open("ab") as file:
        file.write(packing.before + digest + packing.after)


def is_whole(path: Path, packing: Packing) -> bool:
    """Whether no byte of the archive changed since it was sealed."""
    size = path.stat().st_size - packing.seal_bytes
    if size < 0:
        return False
    with open_plain(path) as file:
        file.seek(size)
        found = file.read()
    return found == packing.before + _sum(path, size) + packing.after


def _sum(path: Path, size: int) -> bytes:
    """SHA-256 of the first ``size`` bytes."""
    digest = hashlib.sha256()
    with open_plain(path) as file:
        while size > 0 and (chunk := file.read(min(_CHUNK, size))):
            digest.update(chunk)
            size -= len(chunk)
    return digest.digest()
