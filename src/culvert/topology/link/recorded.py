"""Recorded links: files that the wire replays, checked before anything runs, known by their digest.

Two formats, both a number of milliseconds on each line: a *trace* has whole numbers in
ascending order, each an opportunity to deliver one full frame (mahimahi's mm-link); *delays* are
measured delays, such as ping prints, of which one is drawn for each packet.
"""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Self, TypeVar

from culvert.errors import LabError, UsageError
from culvert.files.plain import read_plain

LONGEST_TRACE_MS = 86_400_000
LONGEST_DELAY_MS = 60_000
LONGEST_FILE_BYTES = 64 << 20
MOST_LINES = 5_000_000
"""An opportunity each 12 us for a minute, as at 1 Gbit/s; more than an hour at 15 Mbit/s."""
MOST_KEPT = 256
"""Files that are remembered, so that a file that many conditions name is read once."""
OPPORTUNITY_BITS = 8 * 1514
_TRACE_REMEDY = "each line is a whole number of milliseconds, in ascending order"
_DELAYS_REMEDY = "each line is a number of milliseconds from 0 to 60000"


Stamp = tuple[int, int, int, int, int]
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Recorded:
    """A valid file. Files with equal content are equal, whatever their path."""

    path: Path = field(compare=False)
    sha256: str

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises UsageError that names the file, and the line."""
        found: Self | UsageError = _known(cls._read, path, _stamp(path))
        if isinstance(found, UsageError):
            raise found
        return found

    @classmethod
    @abstractmethod
    def _read(cls, path: Path) -> Self: ...

    @classmethod
    @abstractmethod
    def unread(cls, path: Path) -> Self:
        """A file of a finished run, which is not read any more."""

    def unchanged(self) -> Path:
        """Its path, if its content is unchanged; raises LabError."""
        try:
            same = _digest(read_plain(self.path, LONGEST_FILE_BYTES)) == self.sha256
        except OSError as error:
            raise LabError(str(self.path), str(error.strerror), "put the file back") from error
        if not same:
            raise LabError(
                str(self.path), "it has changed since the study was read", "start the run again"
            )
        return self.path


@dataclass(frozen=True)
class Trace(Recorded):
    """Delivery opportunities, with their mean rate in bit/s of full frames."""

    mean_rate_bps: float

    @classmethod
    def unread(cls, path: Path) -> Self:
        return cls(path, "", 0.0)

    @classmethod
    def _read(cls, path: Path) -> Self:
        content = _content(path)
        last, count = 0, 0
        for number, line in _lines(path, content):
            moment = int(line) if line.isascii() and line.isdigit() and len(line) < 12 else -1
            if not 0 <= moment <= LONGEST_TRACE_MS:
                why = f"line {number} is not a number of milliseconds up to a day"
                raise UsageError(str(path), why, _TRACE_REMEDY)
            if moment < last:
                why = f"line {number} is earlier than the one before it"
                raise UsageError(str(path), why, _TRACE_REMEDY)
            last, count = moment, count + 1
        if not last:
            why = "its last time is 0" if count else "it has no delivery opportunity"
            raise UsageError(str(path), why, _TRACE_REMEDY)
        return cls(path, _digest(content), count * OPPORTUNITY_BITS / (last / 1000))


@dataclass(frozen=True)
class Delays(Recorded):
    """Delays of packets: ``per_cent_ns`` are the percentiles 0 %, 1 % ... 100 %."""

    per_cent_ns: tuple[int, ...]

    @classmethod
    def unread(cls, path: Path) -> Self:
        return cls(path, "", (0,) * 101)

    @classmethod
    def _read(cls, path: Path) -> Self:
        content = _content(path)
        values = [
            _delay_ms(path, number, line)
            for number, line in _lines(path, content)
            if not line.startswith("#")
        ]
        if not values:
            raise UsageError(str(path), "it contains no delays", _DELAYS_REMEDY)
        values.sort()
        ranks = (round(per_cent / 100 * (len(values) - 1)) for per_cent in range(101))
        return cls(path, _digest(content), tuple(round(values[rank] * 1e6) for rank in ranks))


def _delay_ms(path: Path, number: int, line: str) -> float:
    try:
        value = float(line)
    except ValueError:
        value = math.nan
    if not 0 <= value <= LONGEST_DELAY_MS:
        raise UsageError(str(path), f"line {number} is not a delay", _DELAYS_REMEDY)
    return value


def _content(path: Path) -> bytes:
    try:
        return read_plain(path, LONGEST_FILE_BYTES)
    except OSError as error:
        raise UsageError(
            str(path), f"it cannot be read: {error.strerror}", "check the path and its mode"
        ) from error


def _lines(path: Path, content: bytes) -> Iterator[tuple[int, str]]:
    """Lines that are not empty, with their numbers."""
    if content.count(b"\n") > MOST_LINES:
        raise UsageError(str(path), f"it has more than {MOST_LINES} lines", "shorten it")
    for number, line in enumerate(BytesIO(content), 1):
        try:
            text = line.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise UsageError(str(path), "it is not text", "see docs/conditions.md") from error
        if text:
            yield number, text


def _stamp(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@lru_cache(maxsize=MOST_KEPT)
def _known(read: Callable[[Path], _Found], path: Path, stamp: Stamp | None) -> _Found | UsageError:
    """What was read of the file in that state, or why it could not be."""
    del stamp
    try:
        return read(path)
    except UsageError as error:
        return error


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
