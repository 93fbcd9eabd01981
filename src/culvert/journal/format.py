"""The formats of an export, in their own module because --help needs the names."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """Formats of an export."""

    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"
    BENCHER = "bencher"
    """Bencher's metric format."""
    BIGGER = "customBiggerIsBetter"
    """Of github-action-benchmark, which calls it so."""
    SMALLER = "customSmallerIsBetter"


ROWS = frozenset({Format.JSON, Format.CSV, Format.PARQUET})
"""Formats of rows; the others are documents for trackers of benchmarks."""
