"""The columns of every export: one row per metric of each trial, imports included.

docs/export.md explains them; a test compares the two.
"""

from __future__ import annotations

import polars as pl

ROWS_SCHEMA: dict[str, type[pl.DataType]] = {
    "study": pl.String,
    "block": pl.Int64,
    "trial": pl.Int64,
    "vpn": pl.String,
    "version": pl.String,
    "condition": pl.String,
    "measurement": pl.String,
    "parameters": pl.String,
    "metric": pl.String,
    "labels": pl.String,
    "unit": pl.String,
    "value": pl.Float64,
    "status": pl.String,
    "reason": pl.String,
}
"""A trial without metrics has one row, its metric, unit and value null."""
