"""Cost against throughput: goodput of each VPN, and the CPU seconds per gigabyte of it."""

from __future__ import annotations

import altair as alt
import polars as pl

from culvert.analysis.observations import CELL, pick
from culvert.report.charts.common import Records, layered, source, vpn_colour, vpn_shape
from culvert.report.labels import cells_of, slug
from culvert.report.model import Data, Figure, FigureTable, Panel
from culvert.report.numbers import Scale, scale_for

HEIGHT_PX = 300
_SECONDS = Scale(1.0, "s/GB")


def cost_figures(data: Data, condition: str) -> list[Figure]:
    """One figure: a panel for each cell of tcp and udp."""
    panels, rows, names = [], [], []
    for measurement in ("tcp", "udp"):
        found = pick(data.summary, "cpu_s_per_gb", measurement=measurement)
        for parameters in cells_of(found, measurement, condition):
            name = data.labels.cell(condition, measurement, parameters)
            panel, lines = _panel(data, condition, measurement, parameters, name)
            panels.append(panel)
            rows += lines
            names.append(name)
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


def _panel(
    data: Data, condition: str, measurement: str, parameters: str, name: str
) -> tuple[Panel, list[tuple[str, ...]]]:
    def cell(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
        return pick(
            frame, metric, measurement=measurement, condition=condition, parameters=parameters
        )

    def joined(frame: pl.DataFrame, *keys: str) -> pl.DataFrame:
        return cell(frame, "goodput_bps").join(
            cell(frame, "cpu_s_per_gb"), on=[*CELL, *keys], how="inner", suffix="_cost"
        )

    middle = joined(data.summary)
    scale = scale_for("bit/s", middle["median"].to_list())
    medians: Records = []
    lines: list[tuple[str, ...]] = []
    for vpn in data.vpns:
        for row in middle.filter(pl.col("vpn") == vpn).iter_rows(named=True):
            goodput = (row["median"], row["low"], row["high"])
            cost = (row["median_cost"], row["low_cost"], row["high_cost"])
            medians.append(
                {
                    "vpn": vpn,
                    **_ends("x", goodput, scale.factor),
                    **_ends("y", cost, 1.0),
                    "goodput": f"{scale.with_interval(*goodput)} {scale.name}",
                    "cost": f"{_SECONDS.with_interval(*cost)} s/GB",
                }
            )
            lines.append(
                (name, vpn, medians[-1]["goodput"], _SECONDS.with_interval(*cost), str(row["n"]))
            )
    dots: Records = [
        {"vpn": row["vpn"], "x": row["value"] / scale.factor, "y": row["value_cost"]}
        for row in joined(data.observed, "block", "trial").iter_rows(named=True)
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
    base = alt.Chart(source(medians))
    panel = layered(
        [
            alt.Chart(source(dots))
            .mark_point(filled=True, size=16, opacity=0.45)
            .encode(x=x, y=y, color=vpn_colour(data, legend=present)),
            *(
                alt.Chart(source(those))
                .mark_rule(strokeWidth=1.6)
                .encode(color=vpn_colour(data, legend=present), **ends)
                for axis, ends in (
                    ("x", {"x": alt.X("x_low:Q"), "x2": alt.X2("x_high:Q"), "y": y}),
                    ("y", {"x": x, "y": alt.Y("y_low:Q"), "y2": alt.Y2("y_high:Q")}),
                )
                if (those := [one for one in medians if one[f"{axis}_low"] is not None])
            ),
            base.mark_point(filled=True, size=110, opacity=1).encode(
                x=x,
                y=y,
                color=vpn_colour(data, legend=present),
                shape=vpn_shape(data, legend=present),
                tooltip=[
                    alt.Tooltip("vpn:N", title="VPN"),
                    alt.Tooltip("goodput:N", title="goodput [95 %]"),
                    alt.Tooltip("cost:N", title="CPU [95 %]"),
                ],
            ),
        ],
        name,
        HEIGHT_PX,
    )
    return panel, lines


def _ends(
    axis: str, estimate: tuple[float, float | None, float | None], factor: float
) -> dict[str, float | None]:
    value, low, high = estimate
    return {
        axis: value / factor,
        f"{axis}_low": None if low is None else low / factor,
        f"{axis}_high": None if high is None else high / factor,
    }
