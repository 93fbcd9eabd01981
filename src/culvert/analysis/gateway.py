"""Figures of a gateway by its number of clients, which is one of a cell's parameters, and by its
number of cores, which is one of a condition's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

KIND = "gateway_load"
CLIENTS = "clients"
CORES = "cores"


def by_clients(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of ``gateway_load`` with two more columns: ``load``, the parameters without their
    number of clients, and ``clients``."""
    found = frame.filter(measurement=KIND)
    given = [(text, json.loads(text)) for text in found["parameters"].unique().to_list()]
    split = [(text, int(one.pop(CLIENTS)), json.dumps(one, sort_keys=True)) for text, one in given]
    schema = {"parameters": pl.String, CLIENTS: pl.Int64, "load": pl.String}
    return found.join(pl.DataFrame(split, schema, orient="row"), on="parameters", how="left")


def cores_of(content: Mapping[str, Any]) -> list[dict[str, int]]:
    """Conditions of a study that differ in the gateway's cores alone: the cores of each, by name.
    Those that do not set ``cores`` share the gateway's with the generators, and are left out."""
    found: dict[str, dict[str, int]] = {}
    for table in content.get("condition", ()):
        rest = {key: value for key, value in table.items() if key not in ("name", CORES)}
        if table.get(CORES):
            found.setdefault(json.dumps(rest, sort_keys=True), {})[table["name"]] = table[CORES]
    return [group for group in found.values() if len(group) > 1]


def by_cores(frame: pl.DataFrame, group: Mapping[str, int]) -> pl.DataFrame:
    """The rows of ``gateway_load`` in these conditions, with one more column: ``cores``."""
    found = frame.filter(pl.col("measurement") == KIND, pl.col("condition").is_in(list(group)))
    return found.with_columns(
        pl.col("condition").replace_strict(group, return_dtype=pl.Int64, default=None).alias(CORES)
    )
