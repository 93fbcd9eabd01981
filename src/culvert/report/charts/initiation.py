"""Connection initiation, as table 4 of dekker2020: total and handshake, mean, median, 99 %."""

from __future__ import annotations

import altair as alt
import polars as pl

from culvert.analysis.initiation import initiation_table
from culvert.files.names import slug
from culvert.report.charts.cell import Cell
from culvert.report.charts.common import (
    VPN_TIP,
    Records,
    height,
    layered,
    no_number,
    number_beside,
    source,
    vpn_axis,
    vpn_colour,
)
from culvert.report.model import Data, Figure, FigureTable, Panel
from culvert.report.numbers import Scale, scale_for

KINDS = {"total_ms": "until the first packet is answered", "handshake_ms": "handshake alone"}
"""The times that are drawn."""
PLACES_PX = {"total_ms": -9, "handshake_ms": 9}
"""Above and below the middle of a VPN's row."""
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
    return [
        _figure(cell, initiation_table(cell.rows(data.cycles)))
        for cell in Cell.all(data, data.cycles, "initiation", condition)
    ]


def _figure(cell: Cell, table: pl.DataFrame) -> Figure:
    totals = "; ".join(
        f"{row['vpn']} {scale_for('ms', [row['p50']]).text(row['p50'])}"
        for row in table.filter(metric="total_ms").iter_rows(named=True)
    )
    return Figure(
        name=slug(f"initiation {cell.condition} {cell.name}"),
        title=f"{cell.name}: from the command to the first answered packet",
        caption=(
            "Each mark is one start; the vertical line is the median of all starts, as papers show "
            "it. The headline takes the median of each trial first, since the starts of one trial "
            "are not independent: the two may differ. Total is from the command (a "
            "program is executed, or instructed to initiate) to the first inner packet that was "
            "answered; handshake is from its first to its last packet on the link, by kernel "
            f"timestamps. Parameters: {cell.everything}."
        ),
        alt_text=f"Dot plot of connection initiation. Median totals: {totals}.",
        panels=(_panel(cell, table),),
        table=_table(cell, table),
    )


def _dots(cell: Cell) -> Records:
    """One of each start."""
    return [
        {
            "vpn": row["vpn"],
            "kind": KINDS[row["metric"]],
            "value": max(row["value"], 1e-6),
            "shown": scale_for("ms", [row["value"]]).text(row["value"]),
            "block": row["block"],
            "place": PLACES_PX[row["metric"]],
        }
        for row in cell.rows(cell.data.cycles).iter_rows(named=True)
        if row["metric"] in KINDS
    ]


def _middles(table: pl.DataFrame) -> Records:
    """Medians of all starts."""
    return [
        {
            "vpn": row["vpn"],
            "value": max(row["p50"], 1e-6),
            "text": Scale(1.0, "ms").number(row["p50"]),
            "end": max(row["greatest"], 1e-6),
            "place": PLACES_PX[row["metric"]],
        }
        for row in table.iter_rows(named=True)
        if row["metric"] in KINDS
    ]


def _panel(cell: Cell, table: pl.DataFrame) -> Panel:
    data, dots, middles = cell.data, _dots(cell), _middles(table)
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
    return layered(
        [
            alt.Chart(source(dots))
            .mark_point(filled=True, size=42, opacity=0.55, yOffset=place)
            .encode(
                y=y,
                x=x,
                shape=shape,
                color=vpn_colour(data),
                tooltip=[
                    VPN_TIP,
                    alt.Tooltip("kind:N", title="time"),
                    alt.Tooltip("shown:N", title="one initiation"),
                    alt.Tooltip("block:Q", title="block"),
                ],
            ),
            alt.Chart(source(middles))
            .mark_tick(style="ink", thickness=2, size=15, yOffset=place)
            .encode(y=y, x=alt.X("value:Q")),
            number_beside(middles, y, dx=10, yOffset=place),
            no_number(data, table["vpn"].to_list(), y),
        ],
        "Connection initiation",
        height(data) + 20,
    )


def _table(cell: Cell, table: pl.DataFrame) -> FigureTable:
    scale = Scale(1.0, "ms")
    packets = cell.summary("handshake_packets")
    rows = []
    for vpn in cell.data.vpns:
        for metric, kind in ROWS.items():
            found = table.filter(vpn=vpn, metric=metric)
            if found.is_empty():
                continue
            row = found.row(0, named=True)
            needed = packets.filter(vpn=vpn)
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
