"""Stacked bars: where UDP packets were lost, and what used the CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from culvert.analysis.cpu import PARTS
from culvert.analysis.losses import PLACES, RECEIVED
from culvert.analysis.observations import CELL
from culvert.files.names import slug
from culvert.report.charts.cell import Cell
from culvert.report.charts.common import (
    VPN_TIP,
    Records,
    dot_layer,
    height,
    layered,
    no_number,
    number_beside,
    source,
    vpn_axis,
)
from culvert.report.model import Data, Figure, FigureTable, Panel
from culvert.report.numbers import Scale, percent
from culvert.report.palette import COST, LOSS


def stack(
    data: Data,
    records: Records,
    title: str,
    axis: str,
    fill: Mapping[str, str],
    *,
    most: float | None = None,
    sums: Sequence[Mapping[str, Any]] = (),
    dots: Sequence[Mapping[str, Any]] = (),
) -> Panel:
    """``records`` (vpn, part, rank, value, shown), ``fill`` a colour for each part, ``most`` the
    end of the axis. ``sums`` (vpn, end, text) are written beside the bars, ``dots`` drawn on them
    as ``dot_layer`` has them.
    """
    y = vpn_axis(data)
    x = alt.X(
        "value:Q",
        title=axis,
        stack="zero",
        scale=alt.Scale(domain=[0, most], nice=False) if most else alt.Scale(nice=True),
        axis=alt.Axis(tickCount=5),
    )
    bars = (
        alt.Chart(source(records))
        .mark_bar()
        .encode(
            y=y,
            x=x,
            order=alt.Order("rank:Q"),
            color=alt.Color(
                "part:N",
                scale=alt.Scale(domain=list(fill), range=list(fill.values())),
                sort=list(fill),
                # Below, so that rows align with those of a neighbouring panel without a legend.
                legend=alt.Legend(
                    title=None, columns=3 if len(fill) <= 3 else 2, labelLimit=170, orient="bottom"
                ),
            ),
            tooltip=[
                VPN_TIP,
                alt.Tooltip("part:N", title="part"),
                alt.Tooltip("shown:N", title="mean"),
            ],
        )
    )
    layers: list[alt.Chart] = [bars]
    if dots:
        layers.append(dot_layer([dict(dot) for dot in dots], y, "value"))
    if sums:
        layers.append(number_beside([dict(found) for found in sums], y, dx=9))
    having = sorted({str(record["vpn"]) for record in records})
    layers.append(no_number(data, having, y))
    return layered(layers, title, height(data))


LOSS_NAMES = {
    RECEIVED: "received",
    "lost_in_socket": "receiver's socket",
    "lost_in_qdisc": "queue (qdisc)",
    "lost_in_interface": "interface",
    "lost_in_tunnel": "tunnel",
    "lost_on_link": "link",
    "lost_unattributed": "not attributed",
}
_SECONDS = Scale(1.0, "s/GB")


def loss_figures(data: Data, condition: str) -> list[Figure]:
    """One figure: a panel for each udp cell."""
    cells = Cell.all(data, data.losses, "udp", condition)
    if not cells:
        return []
    panels, rows = [], []
    names = [LOSS_NAMES[place] for place in (RECEIVED, *PLACES)]
    fill = {LOSS_NAMES[place]: LOSS[place] for place in (RECEIVED, *PLACES)}
    for cell in cells:
        found = cell.rows(data.losses)
        records: Records = [
            {
                "vpn": row["vpn"],
                "part": LOSS_NAMES[row["place"]],
                "rank": names.index(LOSS_NAMES[row["place"]]),
                "value": 100 * row["share"],
                "shown": percent(row["share"]),
            }
            for row in found.iter_rows(named=True)
        ]
        panels.append(stack(data, records, cell.name, "% of the packets offered", fill, most=100))
        for vpn in data.vpns:
            own = dict(found.filter(vpn=vpn).select("place", "share").iter_rows())
            if own:
                shown = [percent(own[place]) for place in (RECEIVED, *PLACES)]
                rows.append((cell.name, vpn, *shown))
    return [
        Figure(
            name=slug(f"losses {condition}"),
            title="Where UDP packets were lost",
            caption=(
                "Where the study sets no rate, the sender offers as many packets as it can, and "
                "loss is flood loss: the socket, the queue or the VPN could not keep up. It is not "
                "loss of the network. Means of the trials that count."
            ),
            alt_text="Stacked bars of packets received and lost, by place; figures in the table.",
            panels=tuple(panels),
            table=FigureTable(("cell", "VPN", *names), "ll" + "r" * len(names), tuple(rows)),
        )
    ]


def cpu_figures(data: Data, condition: str) -> list[Figure]:
    """One figure: which part uses the CPU seconds of a gigabyte, a panel for each traffic cell."""
    panels, rows = [], []
    for measurement in ("tcp", "udp"):
        for cell in Cell.all(data, data.cpu_split, measurement, condition):
            found = cell.rows(data.cpu_split)
            records: Records = [
                {
                    "vpn": row["vpn"],
                    "part": row["part"],
                    "rank": PARTS.index(row["part"]),
                    "value": row["s_per_gb"],
                    "shown": _SECONDS.text(row["s_per_gb"]),
                }
                for row in found.iter_rows(named=True)
            ]
            panels.append(stack(data, records, cell.name, "CPU seconds per gigabyte", COST))
            rows += _cost_rows(data, cell.name, found)
    if not panels:
        return []
    return [
        Figure(
            name=slug(f"cpu {condition}"),
            title="What uses the CPU",
            caption=(
                "CPU seconds per gigabyte of goodput, means of the trials that count. The VPN's "
                "processes and the probe by the scheduler's clock; softirq (much of a kernel "
                "VPN's work) as far as it did not run inside them. The rest of the system is what "
                "else ran on the machine: kernel threads, and processes outside the trial."
            ),
            alt_text="Stacked bars of CPU seconds per gigabyte by part; figures in the table.",
            panels=tuple(panels),
            table=FigureTable(
                ("cell", "VPN", *PARTS, "all, s/GB", "busiest threads, CPU s per trial"),
                "ll" + "r" * (len(PARTS) + 1) + "l",
                tuple(_with_threads(data, condition, rows)),
            ),
        )
    ]


_CostRow = tuple[tuple[str, str], tuple[str, ...]]


def _cost_rows(data: Data, name: str, found: pl.DataFrame) -> list[_CostRow]:
    rows: list[_CostRow] = []
    for vpn in data.vpns:
        own_rows = found.filter(vpn=vpn)
        own = dict(own_rows.select("part", "s_per_gb").iter_rows())
        if own:
            cell = own_rows.select(CELL).row(0)
            shown = [_SECONDS.number(own[part]) for part in PARTS]
            rows.append(
                ((vpn, str(cell[2:])), (name, vpn, *shown, _SECONDS.number(sum(own.values()))))
            )
    return rows


def _with_threads(data: Data, condition: str, rows: Sequence[_CostRow]) -> list[tuple[str, ...]]:
    threads = data.threads.filter(condition=condition)
    busiest: dict[tuple[str, str], list[str]] = {}
    for row in threads.iter_rows(named=True):
        key = (row["vpn"], str((row["measurement"], row["parameters"])))
        seconds = Scale(1.0, "s").number(row["cpu_s"])
        busiest.setdefault(key, []).append(f"{row['node']}: {row['thread']} {seconds}")
    return [(*shown, "; ".join(busiest.get(key, []))) for key, shown in rows]
