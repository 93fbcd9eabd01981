"""Connection initiation, as table 4 of dekker2020: total and handshake, mean, median, 99 %."""

from __future__ import annotations

import altair as alt
import polars as pl

from culvert.analysis.initiation import initiation_table
from culvert.analysis.observations import pick
from culvert.report.charts.common import (
    Records,
    height,
    layered,
    no_number,
    source,
    vpn_axis,
    vpn_colour,
)
from culvert.report.labels import cells_of, everything, slug
from culvert.report.model import Data, Figure, FigureTable
from culvert.report.numbers import Scale, scale_for

KINDS = {"total_ms": "until the first packet is answered", "handshake_ms": "handshake alone"}
"""The times that are drawn."""
ROWS = {
    "total_ms": "total",
    "handshake_ms": "handshake",
    "first_handshake_ms": "until its first packet",
    "last_handshake_ms": "until its last packet",
    "first_inner_ms": "until the first inner packet",
}
"""The times in the table; "until" counts from the command."""


def initiation_figures(data: Data, condition: str) -> list[Figure]:
    """One figure per initiation cell with trials that count."""
    single = data.cycles.filter(pl.col("condition") == condition)
    return [
        _figure(
            data,
            condition,
            parameters,
            single.filter(pl.col("parameters") == parameters),
        )
        for parameters in cells_of(single, "initiation", condition)
    ]


def _figure(data: Data, condition: str, parameters: str, single: pl.DataFrame) -> Figure:
    table = initiation_table(single)
    all_parameters = everything("initiation", parameters)
    dots: Records = [
        {
            "vpn": row["vpn"],
            "kind": KINDS[row["metric"]],
            "value": max(row["value"], 1e-6),
            "shown": scale_for("ms", [row["value"]]).text(row["value"]),
            "block": row["block"],
            "place": -9 if row["metric"] == "total_ms" else 9,
        }
        for row in single.iter_rows(named=True)
        if row["metric"] in KINDS
    ]
    middles: Records = [
        {
            "vpn": row["vpn"],
            "value": max(row["p50"], 1e-6),
            "text": Scale(1.0, "ms").number(row["p50"]),
            "end": max(row["greatest"], 1e-6),
            "place": -9 if row["metric"] == "total_ms" else 9,
        }
        for row in table.iter_rows(named=True)
        if row["metric"] in KINDS
    ]
    y = vpn_axis(data)
    place = alt.ExprRef("datum.place")
    most = max((dot["value"] for dot in dots), default=1.0)
    least = min((dot["value"] for dot in dots), default=0.1)
    x = alt.X(
        "value:Q",
        title="ms (logarithmic), less is better",
        scale=alt.Scale(type="log", domain=[least / 1.5, most * 4], nice=False),
        axis=alt.Axis(tickCount=6, format="~f"),
    )
    shape = alt.Shape(
        "kind:N",
        scale=alt.Scale(domain=list(KINDS.values()), range=["circle", "diamond"]),
        legend=alt.Legend(title=None, symbolOpacity=1, columns=1),
    )
    panel = layered(
        [
            alt.Chart(source(dots))
            .mark_point(filled=True, size=42, opacity=0.55, yOffset=place)
            .encode(
                y=y,
                x=x,
                shape=shape,
                color=vpn_colour(data),
                tooltip=[
                    alt.Tooltip("vpn:N", title="VPN"),
                    alt.Tooltip("kind:N", title="time"),
                    alt.Tooltip("shown:N", title="one initiation"),
                    alt.Tooltip("block:Q", title="block"),
                ],
            ),
            alt.Chart(source(middles))
            .mark_tick(style="ink", thickness=2, size=15, yOffset=place)
            .encode(y=y, x=alt.X("value:Q")),
            alt.Chart(source(middles))
            .mark_text(style="value", align="left", dx=10, fontWeight=600, yOffset=place)
            .encode(y=y, x=alt.X("end:Q"), text=alt.Text("text:N")),
            no_number(data, table["vpn"].to_list(), y),
        ],
        "Connection initiation",
        height(data) + 20,
    )
    name = data.labels.cell(condition, "initiation", parameters)
    totals = "; ".join(
        f"{row['vpn']} {scale_for('ms', [row['p50']]).text(row['p50'])}"
        for row in table.filter(pl.col("metric") == "total_ms").iter_rows(named=True)
    )
    return Figure(
        name=slug(f"initiation {condition} {name}"),
        title=f"{name}: from the command to the first answered packet",
        caption=(
            "Each mark is one start; the vertical line is the median of all starts, as papers show "
            "it. The headline takes the median of each trial first, since the starts of one trial "
            "are not independent: the two may differ. Total is from the command (a "
            "program is executed, or instructed to initiate) to the first inner packet that was "
            "answered; handshake is from its first to its last packet on the link, by kernel "
            f"timestamps. Parameters: {all_parameters}."
        ),
        alt_text=f"Dot plot of connection initiation. Median totals: {totals}.",
        panels=(panel,),
        table=_table(data, condition, parameters, table),
    )


def _table(data: Data, condition: str, parameters: str, table: pl.DataFrame) -> FigureTable:
    scale = Scale(1.0, "ms")
    packets = pick(
        data.summary,
        "handshake_packets",
        measurement="initiation",
        condition=condition,
        parameters=parameters,
    )
    rows = []
    for vpn in data.vpns:
        for metric, kind in ROWS.items():
            found = table.filter(pl.col("vpn") == vpn, pl.col("metric") == metric)
            if found.is_empty():
                continue
            row = found.row(0, named=True)
            needed = packets.filter(pl.col("vpn") == vpn)
            rows.append(
                (
                    vpn,
                    kind,
                    *(scale.number(row[key]) for key in ("mean", "p50")),
                    scale.number(row["p99"])
                    if row["p99"] is not None
                    else f"too few ({row['cycles']})",
                    *(scale.number(row[key]) for key in ("least", "greatest")),
                    scale.number(needed["median"][0])
                    if metric == "handshake_ms" and len(needed)
                    else "",
                    str(row["cycles"]),
                )
            )
    columns = ("mean, ms", "50 %, ms", "99 %, ms", "least, ms", "greatest, ms", "packets", "starts")
    return FigureTable(("VPN", "time", *columns), "ll" + "r" * len(columns), tuple(rows))
