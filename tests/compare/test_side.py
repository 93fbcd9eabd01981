"""Parameters that measurements have gained since an older run."""

from __future__ import annotations

import json

import polars as pl

from culvert.compare.side import with_defaults


def of(*cells: tuple[str, str]) -> pl.DataFrame:
    return pl.DataFrame(cells, schema=["measurement", "parameters"], orient="row")


def test_an_older_cell_gets_the_defaults_of_today() -> None:
    (filled,) = with_defaults(of(("throughput", '{"packet_size":512}')))["parameters"]
    assert json.loads(filled)["exceed_ratio"] == "50%"
    again = of(("throughput", filled))
    assert with_defaults(again).equals(again)


def test_what_is_not_understood_stays() -> None:
    odd = of(("throughput", "no json"), ("unheard-of", "{}"), ("throughput", '{"gone":1}'))
    assert with_defaults(odd)["parameters"].to_list() == odd["parameters"].to_list()
