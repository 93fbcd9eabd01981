"""Writing a report: report.html, and next to it its tables and figures."""

from __future__ import annotations

import errno
import json
from pathlib import Path

from altair.vegalite.v6.schema import SCHEMA_URL

from culvert.errors import UsageError
from culvert.files.target import write
from culvert.report.charts import figures, sections
from culvert.report.charts.common import LIGHT
from culvert.report.html.drawing import images
from culvert.report.html.page import render
from culvert.report.model import Data, Figure, Panel
from culvert.report.tables import tables
from culvert.report.visible import visible

PAGE = "report.html"
PANEL_WIDTH_PX = 460


def write_data(data: Data, out_dir: Path) -> Path:
    """Write ``report.html``, ``tables/*.csv`` and ``figures/*`` (SVG, PNG, Vega-Lite JSON).

    Returns the path of report.html. Raises UsageError if ``out_dir`` cannot be written.
    """
    try:
        _write_all(data, out_dir)
    except OSError as error:
        raise UsageError(
            f"the report in {out_dir}",
            f"it cannot be written ({error.strerror or error})",
            "free disk space, or write it elsewhere with --out DIR"
            if error.errno in (errno.ENOSPC, errno.EDQUOT)
            else "check the path and its mode, or write it elsewhere with --out DIR",
        ) from error
    return out_dir / PAGE


def _write_all(data: Data, folder: Path) -> None:
    found = list(figures(data))
    for name, table in tables(data).items():
        write(folder / "tables" / f"{name}.csv", table.write_csv().encode())
    page = render(data, sections(found)).encode("utf-8", "replace")
    for _, figure in found:
        spec = json.dumps(printed(figure), ensure_ascii=False).encode("utf-8", "replace")
        write(folder / "figures" / f"{figure.name}.vl.json", spec)
        svg, png = images(spec.decode())
        write(folder / "figures" / f"{figure.name}.svg", svg.encode())
        write(folder / "figures" / f"{figure.name}.png", png)
    write(folder / PAGE, page)


def printed(figure: Figure) -> Panel:
    """Panels side by side in one image on white, for papers."""
    return {
        "$schema": SCHEMA_URL,
        "description": visible(figure.alt_text),
        "title": visible(figure.title),
        "config": LIGHT,
        "hconcat": [panel | {"width": PANEL_WIDTH_PX} for panel in figure.panels],
    }
