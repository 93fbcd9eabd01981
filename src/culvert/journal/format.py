"""The formats of an export, in their own module because --help needs the names."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """Formats of an export."""

    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"
