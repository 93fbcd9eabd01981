"""Figures of a gateway by its number of clients, which is one of a cell's parameters, and by its
number of cores, which is one of a condition's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from culvert.json_text import read_json

KIND, SEARCH = "gateway_load", "gateway_search"
CLIENTS = "clients"
CORES = "cores"
MOST_CLIENTS = 1_000_000
"""Of one gateway; a foreign journal may state any number."""


def by_clients(frame: pl.DataFrame, kind: str = KIND) -> pl.DataFrame:
    """The rows of a measurement that state a number of clients, with two more columns: that number,
    and ``load``, the parameters without it."""
    found = frame.filter(measurement=kind)
    given = [(text, read_json(text)) for text in found["parameters"].unique().to_list()]
    split = [
        (text, one.pop(CLIENTS), json.dumps(one, sort_keys=True))
        for text, one in given
        if type(one.get(CLIENTS)) is int and 0 < one[CLIENTS] <= MOST_CLIENTS
    ]
    schema = {"parameters": pl.String, CLIENTS: pl.Int64, "load": pl.String}
    loads = pl.DataFrame(split, schema, orient="row")
    return found.join(loads, on="parameters", maintain_order="left")


def cores_of(conditions: Mapping[str, Mapping[str, Any]]) -> list[dict[str, int]]:
    """Of a study's conditions, by name, those that differ in the gateway's cores alone: the cores
    of each. Those that do not set ``cores`` share the gateway's with the generators, and are left
    out."""
    found: dict[str, dict[str, int]] = {}
    for name, table in conditions.items():
        rest = {key: value for key, value in table.items() if key not in ("name", CORES)}
        cores = table.get(CORES)
        if cores and isinstance(cores, int):
            found.setdefault(json.dumps(rest, sort_keys=True), {})[name] = cores
    return [group for group in found.values() if len(group) > 1]


def by_cores(frame: pl.DataFrame, group: Mapping[str, int]) -> pl.DataFrame:
    """The rows of ``gateway_load`` in these conditions, with one more column: ``cores``."""
    found = frame.filter(pl.col("measurement") == KIND, pl.col("condition").is_in(list(group)))
    return found.with_columns(
        pl.col("condition").replace_strict(group, return_dtype=pl.Int64, default=None).alias(CORES)
    )
