"""What a journal can be exported as, apart from the code that does it: --help needs the names."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """What an export can be written as."""

    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"
