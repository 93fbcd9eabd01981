"""Common parts of all charts: VPNs on the y axis in one order, fixed colours, two themes.

A panel is as wide as its place in the page. The theme sets the colours of text and grid, so that
one specification serves a light page, a dark page and print: marks name a style, themes define it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import altair as alt
import polars as pl

from culvert.report.model import Data, Panel
from culvert.report.numbers import Scale
from culvert.report.visible import visible_tree
from culvert.study.vpn_id import bare

ROW_PX = 46
SPREAD_PX = 11
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', Arial, sans-serif"

Records = list[dict[str, Any]]


def theme(*, ink: str, muted: str, line: str) -> dict[str, Any]:
    """A Vega-Lite configuration: text in ``ink``, axes in ``muted``, grid in ``line``."""
    return {
        "background": None,
        "font": FONT,
        "padding": {"left": 2, "right": 10, "top": 4, "bottom": 4},
        "view": {"stroke": None},
        "axis": {
            "labelColor": muted,
            "titleColor": muted,
            "titleFontWeight": "normal",
            "titleFontSize": 12,
            "labelFontSize": 12,
            "domainColor": line,
            "gridColor": line,
            "tickColor": line,
            "titlePadding": 10,
        },
        "axisY": {"domain": False, "ticks": False},
        "legend": {
            "labelColor": ink,
            "titleColor": muted,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "orient": "top",
            "labelLimit": 260,
            "symbolStrokeWidth": 2,
            "symbolBaseFillColor": muted,
            "symbolBaseStrokeColor": muted,
        },
        "title": {"color": ink, "fontSize": 13, "fontWeight": 600, "anchor": "start", "offset": 10},
        "style": {
            "ink": {"color": ink},
            "value": {"color": ink, "fontSize": 12},
            "quiet": {"color": muted, "fontSize": 12, "fontStyle": "italic"},
            "dot": {"color": ink, "strokeWidth": 1.1},
        },
    }


LIGHT = theme(ink="#1b1f27", muted="#565d6b", line="#dfe3e9") | {
    "background": "#ffffff",
    # As papers print them; their text is measured in half the time of DejaVu Sans.
    "font": "Arial, 'Liberation Sans', Helvetica, sans-serif",
}
"""For the files in figures/."""

PAGE = theme(ink="var(--ink)", muted="var(--muted)", line="var(--line)")
"""For the page: its style sheet sets the colours, so light, dark and print use one drawing."""


def vpn_axis(data: Data) -> alt.Y:
    """The y axis: all VPNs of the study from top to bottom, including those without a value."""
    return alt.Y(
        "vpn:N",
        title=None,
        sort=data.vpns,
        scale=alt.Scale(domain=data.vpns, paddingInner=0.44, paddingOuter=0.2),
        axis=alt.Axis(labelLimit=215),
    )


def vpn_colour(data: Data, *, legend: Sequence[str] = ()) -> alt.Color:
    """The fixed colour of each VPN; ``legend`` are those that a legend names."""
    return alt.Color(
        "vpn:N",
        scale=alt.Scale(
            domain=data.vpns,
            range=[data.colours[vpn] for vpn in data.vpns],
        ),
        legend=_legend(data, legend),
    )


def _legend(data: Data, named: Sequence[str]) -> alt.Legend | None:
    """The given VPNs, in the order of all charts."""
    shown = [vpn for vpn in data.vpns if vpn in named]
    return alt.Legend(title=None, columns=2, symbolOpacity=1, values=shown) if shown else None


def vpn_shape(data: Data, *, legend: Sequence[str] = ()) -> alt.Shape:
    """A shape for each VPN, for readers who cannot rely on colour; ``legend`` as above."""
    return alt.Shape(
        "vpn:N",
        scale=alt.Scale(domain=data.vpns, range=[data.shapes[vpn] for vpn in data.vpns]),
        legend=_legend(data, legend),
    )


VPN_TIP = alt.Tooltip("vpn:N", title="VPN")


def number_beside(records: Records, y: alt.Y, **mark: Any) -> alt.Chart:
    """Each record's ``text`` to the right of its ``end``."""
    chart: alt.Chart = (
        alt.Chart(source(records))
        .mark_text(style="value", align="left", fontWeight=600, **mark)
        .encode(y=y, x=alt.X("end:Q"), text=alt.Text("text:N"))
    )
    return chart


def source(records: Records) -> alt.InlineData:
    """Data that ``layered`` inlines in the specification."""
    return alt.InlineData(values=records)


def height(data: Data) -> int:
    """Height in pixels of a chart with one row per VPN."""
    return ROW_PX * max(1, len(data.vpns))


def spread(block: int, blocks: Sequence[int]) -> float:
    """The offset of a block's dot in its row, -1 to 1, in order of time to show drift."""
    if len(blocks) < 2:
        return 0.0
    return 2 * blocks.index(block) / (len(blocks) - 1) - 1


def bars_with_trials(
    data: Data, summary: pl.DataFrame, trials: pl.DataFrame, scale: Scale, title: str, axis: str
) -> Panel:
    """A bar for each median, its interval as a whisker, each trial as a dot, the number next to it.
    Of a bare link that is far beyond the VPNs only the number.

    ``summary`` (vpn, median, low, high, n) and ``trials`` (vpn, block, value) of one cell.
    """
    dots = trial_dots(trials, scale)
    bars = _bars(summary, dots, scale)
    beyond = _beyond(bars)
    far = [{"vpn": one["vpn"], "text": f"{one['shown']}, beyond this axis"} for one in beyond]
    bars = [bar for bar in bars if bar not in beyond]
    dots = [dot for dot in dots if dot["vpn"] not in {one["vpn"] for one in beyond}]
    ends = [0.0, *(dot["value"] for dot in dots)]
    ends += [bar[end] for bar in bars for end in ("low", "median", "high") if bar[end] is not None]
    bottom, top = 1.25 * min(ends), 1.25 * max(ends)
    y = vpn_axis(data)
    x = alt.X(
        "median:Q",
        title=axis,
        scale=alt.Scale(domain=[bottom, top if top > bottom else 1.0], nice=False),
        axis=alt.Axis(tickCount=5, format="~s" if top >= 10_000 else "~f"),
    )
    bar_chart = alt.Chart(source(bars))
    layers: list[alt.Chart] = [
        bar_chart.mark_bar(cornerRadiusEnd=3, opacity=0.88).encode(
            y=y,
            x=x,
            color=vpn_colour(data),
            tooltip=[
                VPN_TIP,
                alt.Tooltip("shown:N", title="median [95 %]"),
                alt.Tooltip("n:Q", title="trials"),
            ],
        ),
        dot_layer(dots, y, "value"),
        bar_chart.transform_filter("isValid(datum.low)")
        .mark_rule(style="ink", strokeWidth=2)
        .encode(y=y, x=alt.X("low:Q"), x2=alt.X2("high:Q")),
        *(
            bar_chart.transform_filter("isValid(datum.low)")
            .mark_tick(style="ink", thickness=2, size=11)
            .encode(y=y, x=alt.X(f"{end}:Q"))
            for end in ("low", "high")
        ),
        number_beside(bars, y, dx=9),
        _said_in_row(far, y, style="value"),
        no_number(data, summary["vpn"].to_list(), y),
    ]
    return layered(layers, title, height(data))


def _beyond(bars: Records) -> Records:
    """Bare links that would leave less than half of the width to the VPNs."""
    most = max((bar["end"] for bar in bars if not bare(bar["vpn"])), default=0.0)
    return [bar for bar in bars if bare(bar["vpn"]) and most and bar["end"] > 2 * most]


def _bars(summary: pl.DataFrame, dots: Records, scale: Scale) -> Records:
    """One record per VPN; ``end`` is where its bar, whisker and dots end."""
    bars: Records = []
    for row in summary.iter_rows(named=True):
        estimate = row["median"], row["low"], row["high"]
        median, low, high = map(scale.of, estimate)
        reached = [dot["value"] for dot in dots if dot["vpn"] == row["vpn"]]
        bars.append(
            {
                "vpn": row["vpn"],
                "median": median,
                "low": low,
                "high": high,
                "n": row["n"],
                "text": scale.number(*estimate),
                "shown": f"{scale.with_interval(*estimate)} {scale.name}",
                "end": max([*reached, high or 0, median]),
            }
        )
    return bars


def trial_dots(trials: pl.DataFrame, scale: Scale) -> Records:
    """One record per trial."""
    blocks = sorted(trials["block"].unique().to_list())
    return [
        {
            "vpn": row["vpn"],
            "value": row["value"] / scale.factor,
            "block": row["block"],
            "spread": spread(row["block"], blocks),
            "shown": scale.text(row["value"]),
        }
        for row in trials.iter_rows(named=True)
    ]


def dot_layer(dots: Records, y: alt.Y, field: str) -> alt.Chart:
    """The trials as rings, spread over the row by block."""
    rings: alt.Chart = (
        alt.Chart(source(dots))
        .mark_point(
            style="dot",
            size=24,
            opacity=0.9,
            filled=False,
            yOffset=alt.ExprRef(f"{SPREAD_PX} * datum.spread"),
        )
        .encode(
            y=y,
            x=alt.X(f"{field}:Q"),
            tooltip=[
                VPN_TIP,
                alt.Tooltip("shown:N", title="trial"),
                alt.Tooltip("block:Q", title="block"),
            ],
        )
    )
    return rings


def no_number(data: Data, having: Sequence[str], y: alt.Y) -> alt.Chart:
    """The row of a VPN without a trial that counts states that."""
    silent = [vpn for vpn in data.vpns if vpn not in having]
    return _said_in_row([{"vpn": vpn, "text": "no trial that counts"} for vpn in silent], y)


def _said_in_row(records: Records, y: alt.Y, *, style: str = "quiet") -> alt.Chart:
    """Each record's ``text`` at the left end of its VPN's row."""
    left: Any = alt.XValue  # alt.value() would look for this class by the checksums of all
    words: alt.Chart = (
        alt.Chart(source(records))
        .mark_text(style=style, align="left", dx=6)
        .encode(y=y, x=left(0), text=alt.Text("text:N"))
    )
    return words


def layered(layers: Sequence[alt.Chart], title: str, height_px: int) -> Panel:
    """Layers as one panel that fills its container."""
    panel = {
        "width": "container",
        "height": height_px,
        "title": title,
        "layer": [_layer(chart) for chart in layers],
    }
    return cast(Panel, visible_tree(panel))


def _layer(chart: alt.Chart) -> Panel:
    """One layer; Altair's own way to join layers copies each several times, and every record."""
    bare = chart.copy(deep=False)
    data, bare.data = bare.data, alt.Undefined
    # Validation is off here because it is slow; a test validates whole specifications.
    spec = bare.to_dict(validate=False, context={"data": data, "top_level": False})
    return {"data": {"values": data["values"]}, **spec}
