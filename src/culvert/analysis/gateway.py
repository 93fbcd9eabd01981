"""Figures of a gateway by its number of clients, which is one of a cell's parameters."""

from __future__ import annotations

import json

import polars as pl

KIND = "gateway_load"
CLIENTS = "clients"


def by_clients(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of ``gateway_load`` with two more columns: ``load``, the parameters without their
    number of clients, and ``clients``."""
    found = frame.filter(measurement=KIND)
    given = [(text, json.loads(text)) for text in found["parameters"].unique().to_list()]
    split = [(text, int(one.pop(CLIENTS)), json.dumps(one, sort_keys=True)) for text, one in given]
    schema = {"parameters": pl.String, CLIENTS: pl.Int64, "load": pl.String}
    return found.join(pl.DataFrame(split, schema, orient="row"), on="parameters", how="left")
