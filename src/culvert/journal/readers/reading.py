"""The files that an import reads (named files, and those in named directories and below), and their
bytes as text: limited, decompressed, as far as they are intact."""

from __future__ import annotations

import codecs
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from culvert.errors import UsageError
from culvert.journal.readers.foreign_run import Lost

MOST_BYTES = 256 << 20
"""The greatest size of a file, also after decompression."""

MOST_LOST = 100
"""Unreadable places of one file that are listed one by one."""

_GZIP = b"\x1f\x8b"
_KINDS = re.compile(r"\.(json|jsonl|ndjson|csv|tsv|txt|log|out|dat|data|flent|gz)", re.IGNORECASE)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass
class Text:
    """The text of a file, and the parts that could not be read."""

    file: str
    text: str
    lost: list[Lost] = field(default_factory=list)

    def lose(self, line: int, why: str) -> None:
        """Record that a part of this line is in no run; beyond a limit, places are only counted."""
        if len(self.lost) < MOST_LOST:
            self.lost.append(Lost(self.file, line, why))
        else:
            last = self.lost[-1]
            self.lost[-1] = replace(last, why="and so on", count=last.count + 1)

    def lines(self) -> list[str]:
        return self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def read_bytes(path: Path) -> bytes:
    """The whole file. Raises UsageError for one that is missing, unreadable or too large."""
    try:
        if not path.is_file():
            why = "it is not a file" if path.exists() else "the file does not exist"
            raise UsageError(str(path), why, "check the path")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(
            str(path), f"it cannot be read: {error.strerror}", "check its mode"
        ) from error
    except ValueError as error:  # a path with a zero byte
        raise UsageError(str(path), f"it is not a path: {error}", "check the path") from error
    if len(data) > MOST_BYTES:
        raise UsageError(
            str(path), f"it has more than {MOST_BYTES >> 20} MiB", "split it, and import the parts"
        )
    return data


def read_text(path: Path) -> Text:
    """The file as text. Raises UsageError as ``read_bytes``."""
    return text_of(path.name, read_bytes(path))


def text_of(name: str, data: bytes) -> Text:
    """Text of a file's bytes: gzip is unpacked; bytes that are not UTF-8 become U+FFFD, and are
    reported."""
    found = Text(name, "")
    if data.startswith(_GZIP):
        data = _unpacked(data, found)
    bom, encoding = next((known for known in _BOMS if data.startswith(known[0])), (b"", "utf-8"))
    data = data[len(bom) :]
    try:
        found.text = data.decode(encoding)
    except UnicodeDecodeError as error:
        found.text = data.decode(encoding, "replace")
        line = data.count(b"\n", 0, error.start) + 1
        found.lose(line, "bytes that are not UTF-8 text were replaced")
    return found


def _unpacked(data: bytes, found: Text) -> bytes:
    """The content of gzip members, as far as they are intact."""
    parts: list[bytes] = []
    room = MOST_BYTES
    while data.startswith(_GZIP):
        member = zlib.decompressobj(wbits=31)
        try:
            parts.append(member.decompress(data, room))
        except zlib.error as error:
            found.lose(0, f"its compression is damaged: {error}")
            break
        room -= len(parts[-1])
        if member.unconsumed_tail or room <= 0:
            why = f"it unpacks to more than {MOST_BYTES >> 20} MiB; the rest was left out"
            found.lose(0, why)
            break
        if not member.eof:
            found.lose(0, "its compressed data is truncated")
            break
        data = member.unused_data
    return b"".join(parts)


def name_of(path: Path) -> str:
    """The file's name without the ends that say what kind of file it is; a version keeps its
    points: tailscale-1.98.2 of tailscale-1.98.2.json.gz."""
    name = path.name
    while _KINDS.fullmatch(Path(name).suffix):
        name = Path(name).stem
    return name


def natural(text: str) -> list[tuple[int, str]]:
    """A key that sorts run2 before run10."""
    words = re.findall(r"\d+|\D+", text)
    return [(int(word), "") if word.isascii() and word.isdigit() else (-1, word) for word in words]


@dataclass(frozen=True)
class ForeignFile:
    """``shown`` is its name below the directory that all files share; ``named``: whether the
    user named it, not a directory that contains it."""

    path: Path
    shown: str
    named: bool


def foreign_files(paths: Sequence[Path]) -> list[ForeignFile]:
    """Files in natural order, each once. Raises UsageError for a directory that cannot be read.

    Hidden files and directories (``.git``, ``.gitignore``) are skipped unless they are named; links
    to directories are not followed.
    """
    named: dict[Path, bool] = {}
    found: dict[Path, Path] = {}
    for path in paths:
        inside = os.path.isdir(path)  # noqa: PTH112 - False if it may not look
        for one in _below(path) if inside else [path]:
            found.setdefault(one.absolute(), one)
            named[one.absolute()] = named.get(one.absolute(), False) or not inside
    if not found:
        return []
    shared = Path(os.path.commonpath([one.parent for one in found]))
    ordered = sorted(found, key=lambda one: natural(str(found[one])))
    return [ForeignFile(found[one], str(one.relative_to(shared)), named[one]) for one in ordered]


def _below(directory: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise UsageError(
            str(error.filename or directory),
            f"it cannot be read: {error.strerror}",
            "check its mode",
        ) from error

    for folder, folders, files in os.walk(directory, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(folder, name)
            if not name.startswith(".") and path.is_file():
                yield path
