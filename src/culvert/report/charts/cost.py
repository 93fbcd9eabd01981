"""Cost against throughput: goodput of each VPN, and the CPU seconds per gigabyte of it."""

from __future__ import annotations

from collections.abc import Callable

import altair as alt
import polars as pl

from culvert.analysis.observations import CELL, pick
from culvert.files.names import slug
from culvert.report.charts.cell import Cell
from culvert.report.charts.common import (
    VPN_TIP,
    Records,
    layered,
    source,
    vpn_colour,
    vpn_shape,
)
from culvert.report.model import Data, Figure, FigureTable, Panel
from culvert.report.numbers import Scale, scale_for

HEIGHT_PX = 300
_SECONDS = Scale(1.0, "s/GB")
_COLUMNS = ("vpn", "goodput", "cost", "trials")


def cost_figures(data: Data, condition: str) -> list[Figure]:
    """One figure: a panel for each cell of tcp and udp."""
    panels, rows, names = [], [], []
    for measurement in ("tcp", "udp"):
        found = pick(data.summary, "cpu_s_per_gb", measurement=measurement)
        for cell in Cell.all(data, found, measurement, condition):
            middle = _joined(cell.summary)
            scale = scale_for("bit/s", middle["median"].to_list())
            medians = _medians(data, middle, scale)
            panels.append(_panel(cell, medians, scale))
            rows += [(cell.name, *(one[key] for key in _COLUMNS)) for one in medians]
            names.append(cell.name)
    if not panels:
        return []
    return [
        Figure(
            name=slug(f"cost {condition}"),
            title="Cost against throughput",
            caption=(
                "Large marks are medians with 95 % intervals, small ones single trials. Best is "
                "the lower right: much goodput for little CPU. Seconds are those of the whole "
                "machine, both ends and the measuring program included."
            ),
            alt_text=f"Scatter of CPU seconds per gigabyte against goodput: {'; '.join(names)}.",
            panels=tuple(panels),
            table=FigureTable(
                ("cell", "VPN", "goodput, median [95 %]", "CPU s/GB, median [95 %]", "trials"),
                "llrrr",
                tuple(rows),
            ),
        )
    ]


def _joined(rows_of: Callable[[str], pl.DataFrame], *keys: str) -> pl.DataFrame:
    """Goodput and, with the suffix _cost, the CPU time of it."""
    return rows_of("goodput_bps").join(
        rows_of("cpu_s_per_gb"), on=[*CELL, *keys], how="inner", suffix="_cost"
    )


def _medians(data: Data, middle: pl.DataFrame, scale: Scale) -> Records:
    medians: Records = []
    for vpn in data.vpns:
        for row in middle.filter(vpn=vpn).iter_rows(named=True):
            goodput = (row["median"], row["low"], row["high"])
            cost = (row["median_cost"], row["low_cost"], row["high_cost"])
            medians.append(
                {
                    "vpn": vpn,
                    **_ends("x", goodput, scale),
                    **_ends("y", cost, _SECONDS),
                    "goodput": f"{scale.with_interval(*goodput)} {scale.name}",
                    "cost": _SECONDS.with_interval(*cost),
                    "trials": str(row["n"]),
                }
            )
    return medians


def _panel(cell: Cell, medians: Records, scale: Scale) -> Panel:
    dots: Records = [
        {"vpn": row["vpn"], "x": row["value"] / scale.factor, "y": row["value_cost"]}
        for row in _joined(cell.observed, "block", "trial").iter_rows(named=True)
    ]
    x = alt.X(
        "x:Q",
        title=f"goodput, {scale.name} (logarithmic)",
        scale=alt.Scale(type="log", nice=False, padding=24),
        axis=alt.Axis(tickCount=5, format="~g", gridOpacity=0.6),
    )
    y = alt.Y(
        "y:Q",
        title="CPU seconds per gigabyte (logarithmic)",
        scale=alt.Scale(type="log", nice=False, padding=26),
        axis=alt.Axis(tickCount=5, format="~g", gridOpacity=0.6),
    )
    present = [record["vpn"] for record in medians]
    colour = vpn_colour(cell.data, legend=present)
    return layered(
        [
            alt.Chart(source(dots))
            .mark_point(filled=True, size=16, opacity=0.45)
            .encode(x=x, y=y, color=colour),
            *(
                alt.Chart(source(those)).mark_rule(strokeWidth=1.6).encode(color=colour, **ends)
                for axis, ends in (
                    ("x", {"x": alt.X("x_low:Q"), "x2": alt.X2("x_high:Q"), "y": y}),
                    ("y", {"x": x, "y": alt.Y("y_low:Q"), "y2": alt.Y2("y_high:Q")}),
                )
                if (those := [one for one in medians if one[f"{axis}_low"] is not None])
            ),
            alt.Chart(source(medians))
            .mark_point(filled=True, size=110, opacity=1)
            .encode(
                x=x,
                y=y,
                color=colour,
                shape=vpn_shape(cell.data, legend=present),
                tooltip=[
                    VPN_TIP,
                    alt.Tooltip("goodput:N", title="goodput [95 %]"),
                    alt.Tooltip("cost:N", title="CPU s/GB [95 %]"),
                ],
            ),
        ],
        cell.name,
        HEIGHT_PX,
    )


def _ends(
    axis: str, estimate: tuple[float, float | None, float | None], scale: Scale
) -> dict[str, float | None]:
    names = (axis, f"{axis}_low", f"{axis}_high")
    return dict(zip(names, map(scale.of, estimate), strict=True))
