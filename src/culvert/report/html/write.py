"""Writing a report: report.html, and beside it the tables and figures it is made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import vl_convert
from altair.vegalite.v6.schema import SCHEMA_URL

from culvert.errors import UsageError
from culvert.report.charts import sections
from culvert.report.charts.common import LIGHT
from culvert.report.html.page import render
from culvert.report.model import Data, Figure, gather
from culvert.report.run_info import RunInfo
from culvert.report.tables import tables

PANEL_WIDTH_PX = 460


def write_report(
    run: Mapping[str, Any],
    rows: pl.DataFrame,
    trials: pl.DataFrame,
    histograms: pl.DataFrame,
    series: pl.DataFrame,
    out_dir: Path,
) -> Path:
    """Write ``report.html``, ``tables/*.csv`` and ``figures/*`` (SVG, PNG, Vega-Lite JSON).

    ``run`` and the frames are what the journal gives. Returns the path of report.html. Raises
    UsageError where ``out_dir`` cannot be written, JournalError for a damaged histogram.
    """
    return write_data(gather(RunInfo.from_journal(run), rows, trials, histograms, series), out_dir)


def write_data(data: Data, out_dir: Path) -> Path:
    """The same for a run that has been analysed."""
    try:
        (out_dir / "tables").mkdir(parents=True, exist_ok=True)
        (out_dir / "figures").mkdir(exist_ok=True)
        for name, table in tables(data).items():
            csv = out_dir / "tables" / f"{name}.csv"
            csv.write_text(table.write_csv(), encoding="utf-8")
        found = sections(data)
        for section in found:
            for figure in section.figures:
                _write_figure(figure, out_dir / "figures")
        page = out_dir / "report.html"
        page.write_text(render(data, found), encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"the report in {out_dir}",
            f"it cannot be written ({error.strerror or error})",
            "make room on the disk, or copy the journal to where there is some",
        ) from error
    return page


def _write_figure(figure: Figure, directory: Path) -> None:
    """Panels side by side in one image, on white, as a paper would print it."""
    spec = {
        "$schema": SCHEMA_URL,
        "description": figure.alt_text,
        "title": figure.title,
        "config": LIGHT,
        "hconcat": [panel | {"width": PANEL_WIDTH_PX} for panel in figure.panels],
    }
    (directory / f"{figure.name}.vl.json").write_text(
        json.dumps(spec, ensure_ascii=False, indent=1), encoding="utf-8"
    )
    vega = vl_convert.vegalite_to_vega(spec)
    svg = vl_convert.vega_to_svg(vega, allowed_base_urls=[])
    (directory / f"{figure.name}.svg").write_text(svg, encoding="utf-8")
    (directory / f"{figure.name}.png").write_bytes(vl_convert.svg_to_png(svg, scale=2))
