"""Checks of the values in a journal: SQLite allows any type in any column.

A checksum shows that a row is unchanged, not that Culvert wrote it. Values that are not of the
declared type, not possible, or not the expected JSON are refused with their row and column.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from culvert.errors import JournalError
from culvert.journal import histogram
from culvert.journal.codec import float64s, from_json, int64s
from culvert.journal.schema import COLUMNS
from culvert.journal.trouble import corrupt
from culvert.journal.untrusted import size_of
from culvert.json_text import read_json
from culvert.results import LEAST_FIGURE, MOST_FIGURE, Status, is_figure

MOST_NUMBER = 2**53
"""Greatest integer: programs that use binary64 change greater ones. A seed may be greater."""
MOST_SERIES_BYTES = 64 << 20
"""Greatest size of one unpacked series: eight million points."""
LEAST_SERIES_BYTES = 256 << 20
MOST_EXPANSION = 16
"""All series of a journal may unpack to at most so many times the size of its file, or to the limit
above: measured points compress far less."""
LEAST_HISTOGRAM_BYTES = 8 << 20
"""The same limit for all histograms: decoding a byte takes longer."""
_SEEN = 100_000
"""Number of valid texts to cache: labels and parameters repeat from row to row."""
_WORDS = {"INTEGER": "integer", "REAL": "real", "TEXT": "text", "BLOB": "blob"}


def wrong_value(path: Path, table: str, row: object, column: str, why: str) -> JournalError:
    """The error for a value that Culvert never writes."""
    return corrupt(path, f"{table}, row {row}, column {column}: {why}")


def refuse_other_types(connection: sqlite3.Connection, path: Path) -> None:
    """Raise JournalError for the first value that is not of its column's type, or out of bounds."""
    for table, columns in COLUMNS.items():
        wrong = " OR ".join(_wrong(name, kind) for name, kind in columns.items())
        # Names of tables and columns are constants of the schema.
        query = f"SELECT rowid, * FROM {table} WHERE {wrong} LIMIT 1"  # noqa: S608
        for number, *values in connection.execute(query):
            for (name, kind), value in zip(columns.items(), values, strict=True):
                why = _objection(name, kind, value)
                if why:
                    raise wrong_value(path, table, number, name, why)
            raise wrong_value(path, table, number, "?", "a value of another type")


class Texts:
    """Checks the JSON and the times of a journal; repeated texts are checked once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._good: set[str] = set()

    def check(self, table: str, columns: Sequence[str], number: int, row: Sequence[Any]) -> None:
        """Raise JournalError if a JSON column is not an object, or a time column not a time."""
        for column, value in zip(columns, row, strict=False):
            checker = _CHECKS.get(column)
            if checker is None or value in self._good:
                continue
            why = checker(value)
            if why:
                raise wrong_value(self._path, table, number, column, why)
            if column == "parameters" and len(self._good) < _SEEN:
                self._good.add(value)

    def check_labels(
        self, table: str, columns: Sequence[str], number: int, place: int, row: Sequence[Any]
    ) -> None:
        """The same for the JSON column (labels) of a trial's metrics, series or histograms, at a
        place from 1."""
        labels = row[columns.index("labels")]
        if labels in self._good:
            return
        why = _not_labels(labels)
        if why:
            raise wrong_value(self._path, f"{table} of trial {number}", place, "labels", why)
        if len(self._good) < _SEEN:
            self._good.add(labels)


class Unpacking:
    """Unpacks the series and the histograms of a journal within limits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        growth = MOST_EXPANSION * size_of(path)
        self._left = LEAST_SERIES_BYTES + growth
        self._left_of_histograms = LEAST_HISTOGRAM_BYTES + growth

    def content(self, blob: bytes, row: int, column: str) -> bytes:
        """The unpacked bytes. Raises JournalError if unpacking fails, or exceeds the limits."""
        most = min(self._left, MOST_SERIES_BYTES)
        unpacker = zlib.decompressobj()
        try:
            content = unpacker.decompress(blob, most)
        except zlib.error as error:
            raise wrong_value(self._path, "series", row, column, str(error)) from error
        self._left -= len(content)
        if unpacker.unconsumed_tail:
            raise wrong_value(self._path, "series", row, column, "it is too large when unpacked")
        if not unpacker.eof or unpacker.unused_data or len(content) % 8:
            raise wrong_value(self._path, "series", row, column, "its last number is incomplete")
        return content

    def refuse_undecodable(self, hdr_v2: str, row: int) -> None:
        """Raise JournalError for a histogram that cannot be decoded, or exceeds the limits."""
        try:
            most = min(self._left_of_histograms, histogram.MOST_BYTES)
            content = histogram.unpacked(hdr_v2, most)
            self._left_of_histograms -= len(content)
            histogram.decoded(content)
        except ValueError as error:
            why = f"it cannot be decoded: {error}"
            raise wrong_value(self._path, "histogram", row, "hdr_v2", why) from error

    def series(
        self, t_ns: bytes, value: bytes, row: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The times and the values of a series. Raises JournalError for what is none."""
        times = int64s(self.content(t_ns, row, "t_ns"))
        values = float64s(self.content(value, row, "value"))
        why = ""
        if len(times) != len(values):
            why = f"{len(values)} values for {len(times)} times"
        elif not (abs(values) <= MOST_FIGURE).all():
            why = f"a value is not a number up to {MOST_FIGURE:g}"
        if why:
            raise wrong_value(self._path, "series", row, "value", why)
        return times, values


def _wrong(name: str, kind: str) -> str:
    other = f"typeof({name}) != '{_WORDS[kind]}'"
    if kind == "INTEGER" and name != "seed":
        return f"{other} OR {name} NOT BETWEEN {-MOST_NUMBER} AND {MOST_NUMBER}"
    if kind == "REAL":
        tiny = f"{name} != 0 AND {name} > {-LEAST_FIGURE!r} AND {name} < {LEAST_FIGURE!r}"
        return f"{other} OR {name} NOT BETWEEN {-MOST_FIGURE!r} AND {MOST_FIGURE!r} OR {tiny}"
    return other


def _objection(name: str, kind: str, value: object) -> str:
    types = {"INTEGER": int, "REAL": float, "TEXT": str, "BLOB": bytes}
    if not isinstance(value, types[kind]):
        found = "nothing" if value is None else type(value).__name__
        return f"{found} where {types[kind].__name__} belongs"
    if isinstance(value, float) and not is_figure(value):
        return f"{value} is no figure: 0, or from {LEAST_FIGURE:g} to {MOST_FIGURE:g}"
    if isinstance(value, int) and name != "seed" and abs(value) > MOST_NUMBER:
        return f"the number {value} is out of bounds"
    return ""


def _json_object(text: str) -> tuple[dict[str, Any], str]:
    """The first parser limits nesting and refuses numbers that JSON does not allow, the second
    one refuses keys with two values."""
    try:
        found = from_json(text)
        read_json(text)
    except ValueError as error:
        return {}, f"it is not valid JSON: {str(error)[:100]}"
    return (found, "") if isinstance(found, dict) else ({}, "it is not a JSON object")


def _not_object(text: str) -> str:
    return _json_object(text)[1]


def _not_labels(text: str) -> str:
    found, why = _json_object(text)
    if not why and not all(isinstance(value, str) for value in found.values()):
        return "a label is not a text"
    return why


def _not_time(text: str) -> str:
    try:
        return "" if datetime.fromisoformat(text).tzinfo else "the time has no time zone"
    except ValueError:
        return "it is not a time"


def _not_status(text: str) -> str:
    return "" if text in set(Status) else "it is not a status of a trial"


_CHECKS: dict[str, Callable[[str], str]] = {
    "canonical": _not_object,
    "environment": _not_object,
    "evidence": _not_object,
    "parameters": _not_object,
    "started_at": _not_time,
    "ended_at": _not_time,
    "at": _not_time,
    "status": _not_status,
}
