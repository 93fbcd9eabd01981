from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest

from culvert.errors import UsageError

from .conftest import page_of, write
from .page_reader import Page
from .synthetic import make_run


def test_every_figure_is_there_in_three_forms(plain: tuple[Path, str]) -> None:
    figures = plain[0] / "figures"
    names = {path.name.removesuffix(".vl.json") for path in figures.glob("*.vl.json")}
    assert names == {
        "goodput-clean-tcp",
        "goodput-clean-udp-64-byte-packets",
        "goodput-clean-udp-largest-packets",
        "latency-clean-round-trip",
        "initiation-clean-initiation",
        "cost-clean",
        "losses-clean",
        "cpu-clean",
    }
    for name in names:
        assert (figures / f"{name}.svg").read_text().startswith("<svg")
        assert (figures / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("which", ["plain", "nasty"])
def test_every_specification_obeys_vega_lites_schema(
    which: str, request: pytest.FixtureRequest
) -> None:
    directory, text = request.getfixturevalue(which)
    for path in (directory / "figures").glob("*.vl.json"):
        alt.HConcatChart.from_dict(with_few_records(json.loads(path.read_text())), validate=True)
    for spec in Page(text).charts.values():
        alt.LayerChart.from_dict(with_few_records(spec), validate=True)


def with_few_records(spec: Any) -> Any:
    """To the schema a record is any object: thousands of them take a minute and say no more."""
    if isinstance(spec, list):
        return [with_few_records(each) for each in spec]
    if not isinstance(spec, dict):
        return spec
    if isinstance(records := spec.get("data", {}).get("values"), list):
        assert all(isinstance(record, dict) for record in records)
        spec = spec | {"data": spec["data"] | {"values": records[:2]}}
    return {key: value if key == "data" else with_few_records(value) for key, value in spec.items()}


def test_no_figure_runs_or_loads_anything(nasty: tuple[Path, str]) -> None:
    for path in (nasty[0] / "figures").glob("*.svg"):
        text = path.read_text()
        assert "<script" not in text
        assert "<image" not in text
        assert "href=" not in text.replace('xlink:href="#', "")


def test_tables_hold_what_the_page_shows(plain: tuple[Path, str]) -> None:
    tables = plain[0] / "tables"
    assert {path.stem for path in tables.glob("*.csv")} == {
        "summary",
        "ratio-to-baseline",
        "difference-to-baseline",
        "comparisons",
        "claims",
        "published",
        "latency-ns",
        "initiation-ms",
        "udp-losses",
        "cpu-split",
        "trials",
        "not-ok",
    }
    summary = pl.read_csv(tables / "summary.csv")
    told = summary.filter(
        pl.col("vpn") == "wireguard/go",
        pl.col("metric") == "goodput_bps",
        pl.col("measurement") == "tcp",
    )
    run = make_run()
    values = run.rows.filter(
        pl.col("vpn") == "wireguard/go",
        pl.col("metric") == "goodput_bps",
        pl.col("measurement") == "tcp",
        pl.col("status") == "ok",
    )["value"]
    assert told["median"][0] == pytest.approx(values.median())
    assert pl.read_csv(tables / "trials.csv").height == 100


def test_the_same_journal_gives_the_same_page(plain: tuple[Path, str]) -> None:
    assert page_of(make_run()) == plain[1]


def test_a_directory_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written") as caught:
        write(make_run(blocks=1), tmp_path / "file")
    assert caught.value.remedy.startswith("check the path")
