"""The columns of the frames that a journal is read into."""

from __future__ import annotations

import polars as pl

Schema = dict[str, type[pl.DataType] | pl.DataType]

ROWS_SCHEMA: Schema = {
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
"""One row per metric of each trial, imports included. A trial without metrics has one row, its
metric, unit and value null."""

TRIALS_SCHEMA: Schema = {
    "study": pl.String,
    "trial": pl.Int64,
    "session": pl.Int64,
    "block": pl.Int64,
    "position": pl.Int64,
    "cell": pl.String,
    "vpn": pl.String,
    "version": pl.String,
    "condition": pl.String,
    "measurement": pl.String,
    "parameters": pl.String,
    "status": pl.String,
    "reason": pl.String,
    "remedy": pl.String,
    "started_at": pl.String,
    "duration_s": pl.Float64,
    "measuring_s": pl.Float64,
    "evidence": pl.String,
}
HISTOGRAMS_SCHEMA: Schema = {
    "trial": pl.Int64,
    "name": pl.String,
    "unit": pl.String,
    "labels": pl.String,
    "hdr_v2": pl.String,
}
SERIES_SCHEMA: Schema = {
    "trial": pl.Int64,
    "name": pl.String,
    "unit": pl.String,
    "labels": pl.String,
    "t_ns": pl.List(pl.Int64),
    "value": pl.List(pl.Float64),
}
