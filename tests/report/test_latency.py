"""The instrument's own noise stands in the latency figure, and only where it was measured."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from culvert.report.charts.latency import FLOOR, FLOOR_NAME, latency_figures
from culvert.report.model import Figure

from .synthetic import Run, make_run

RTT = (("rtt", {"packet_size": 84, "probes": 10000}),)


def _figure(run: Run, histograms: pl.DataFrame) -> Figure:
    (figure,) = latency_figures(replace(run, histograms=histograms).data, "clean")
    return figure


def test_the_noise_floor_is_drawn_told_and_tabled() -> None:
    run = make_run(blocks=3, measurements=RTT, faults=False)
    without = _figure(run, run.histograms)
    floors = run.histograms.with_columns(pl.lit(FLOOR).alias("name"))
    figure = _figure(run, pl.concat([run.histograms, floors]))
    assert without.table is not None
    assert figure.table is not None
    assert FLOOR_NAME not in {row[0] for row in without.table.rows}
    own = figure.table.rows[-1]
    assert own[0] == FLOOR_NAME
    probes = [int(row[-1].replace(",", "")) for row in figure.table.rows]
    assert probes[-1] == sum(probes[:-1])  # the same histograms under another name, of all VPNs
    assert "dashed" in figure.caption
    assert "dashed" not in without.caption
    assert len(figure.panels[0]["layer"]) == len(without.panels[0]["layer"]) + 1
