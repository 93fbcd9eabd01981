"""Parameters of older runs, with the parameters that measurements have gained since."""

from __future__ import annotations

import polars as pl
from pydantic import ValidationError

from culvert.results import Parameters
from culvert.study.catalogue import Catalogue, recalled_catalogue

_KEYS = ["measurement", "parameters"]


def with_defaults(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of a journal, their parameters filled in as a run of today would have them: a cell
    of an older run is then the same cell. What today's measurement does not accept stays."""
    catalogue = recalled_catalogue()
    pairs = rows.select(_KEYS).unique().drop_nulls()
    filled = [_filled(catalogue, *pair) for pair in pairs.iter_rows()]
    if filled == pairs["parameters"].to_list():
        return rows
    renewed = pairs.with_columns(pl.Series("_filled", filled, pl.String))
    return (
        rows.join(renewed, on=_KEYS, how="left", maintain_order="left")
        .with_columns(parameters=pl.coalesce("_filled", "parameters"))
        .drop("_filled")
    )


def _filled(catalogue: Catalogue, kind: str, parameters: str) -> str:
    if kind not in catalogue.measurements:
        return parameters
    try:
        model = catalogue.parameters(kind, parameters)
    except (ValidationError, ValueError):
        return parameters
    return Parameters.of(model.model_dump(mode="json", by_alias=True))
