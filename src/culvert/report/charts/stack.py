"""A stacked bar for each VPN, its parts in fixed colours, optionally the sum next to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from culvert.report.charts.common import (
    Records,
    dot_layer,
    height,
    layered,
    no_number,
    source,
    vpn_axis,
)
from culvert.report.model import Data, Panel


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
                alt.Tooltip("vpn:N", title="VPN"),
                alt.Tooltip("part:N", title="part"),
                alt.Tooltip("shown:N", title="mean"),
            ],
        )
    )
    layers: list[alt.Chart] = [bars]
    if dots:
        layers.append(dot_layer([dict(dot) for dot in dots], y, "value"))
    if sums:
        layers.append(
            alt.Chart(source([dict(found) for found in sums]))
            .mark_text(style="value", align="left", dx=9, fontWeight=600)
            .encode(y=y, x=alt.X("end:Q"), text=alt.Text("text:N"))
        )
    having = sorted({str(record["vpn"]) for record in records})
    layers.append(no_number(data, having, y))
    return layered(layers, title, height(data))
