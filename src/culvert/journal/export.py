"""The rows of a journal as Parquet, CSV or JSON, in a file or on standard output."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import polars as pl

from culvert.errors import UsageError
from culvert.files.target import replacing
from culvert.hidden import IN_PYTHON
from culvert.journal.codec import from_json
from culvert.journal.format import Format

_CHUNK = 10_000


def export(rows: pl.DataFrame, format: Format, target: Path | None) -> None:
    """Write rows as of ``Journal.rows()``, whatever columns are added.

    ``format`` is one of ROWS; ``target`` None is standard output. A file is written atomically.
    In JSON, ``parameters`` and ``labels`` are objects; elsewhere JSON text. Raises UsageError.
    """
    write = partial(_WRITERS[format], rows)
    if target is None and sys.stdout.isatty():
        if format is Format.PARQUET:
            raise UsageError(
                "standard output",
                "Parquet is not text for a terminal",
                "add --file FILE, or redirect it",
            )
        write = partial(_shown, write)
    _written(write, target)


def _shown(write: Callable[[IO[bytes]], object], out: IO[bytes]) -> None:
    """On a terminal, which hidden characters could control; files and pipes are exact. JSON inside
    of a row may have them as escapes, which are read."""
    whole = BytesIO()
    write(whole)
    out.write(re.sub(f"[{IN_PYTHON}]", "", whole.getvalue().decode()).encode())


def export_document(document: Any, target: Path | None) -> None:
    """Write a document as JSON, in ASCII, as ``export`` writes rows. Raises UsageError."""
    text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    _written(lambda out: out.write(text.encode()), target)


def _written(write: Callable[[IO[bytes]], object], target: Path | None) -> None:
    if target is None:  # the command reports a full disk and a closed pipe
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    try:
        with replacing(target) as file:
            write(file)
    except OSError as error:
        raise UsageError(
            str(target),
            f"it cannot be written: {error.strerror or error}",
            "choose another path, or free disk space",
        ) from error


def _json(rows: pl.DataFrame, out: IO[bytes]) -> None:
    out.write(b"[")
    before = b"\n"
    for part in rows.iter_slices(_CHUNK):
        for row in part.iter_rows(named=True):
            row["parameters"] = _parsed(row["parameters"])
            row["labels"] = _parsed(row["labels"])
            out.write(before + json.dumps(row, ensure_ascii=False, allow_nan=False).encode())
            before = b",\n"
    out.write(b"\n]\n")


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Any:
    return from_json(text)


def _csv(rows: pl.DataFrame, out: IO[bytes]) -> None:
    # If Polars writes to a pipe itself, a closed pipe and a full disk give the same error.
    out.write(rows.clear().write_csv().encode())
    for part in rows.iter_slices(_CHUNK):
        out.write(part.write_csv(include_header=False).encode())


def _parquet(rows: pl.DataFrame, out: IO[bytes]) -> None:
    whole = BytesIO()  # on a full disk Polars raises other errors
    rows.write_parquet(whole)
    out.write(whole.getbuffer())


_WRITERS: dict[Format, Callable[[pl.DataFrame, IO[bytes]], None]] = {
    Format.JSON: _json,
    Format.CSV: _csv,
    Format.PARQUET: _parquet,
}
