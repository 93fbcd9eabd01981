"""Latency by percentile, as figure 6 of dekker2020: the axis is logarithmic in 1 / (1 - p)."""

from __future__ import annotations

import math

import altair as alt
import numpy as np

from culvert.analysis.latency import EMPTY, PERCENTILES, LatencyDistribution, pool
from culvert.files.names import slug
from culvert.report.charts.cell import NOTHING, Cell, median_text
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

HISTOGRAM = "rtt_ns"
FLOOR = "noise_floor_ns"
FLOOR_NAME = "the instrument itself"
HEIGHT_PX = 340
STEPS = 90
FEW_DECADES = 2.5
"""Up to so many powers of ten, the axis has room for ticks between them."""

_TICKS = [1 / (1 - percent / 100) for percent in PERCENTILES]
# The axis shows 1 / (1 - p): 2 is the median, 10,000 is 99.99 %. It contains no study text.
_TICK_TEXT = "format(100 - 100 / datum.value, '.4~f') + ' %'"


def latency_figures(data: Data, condition: str) -> list[Figure]:
    """One figure per rtt cell with histograms of trials that count."""
    figures = []
    for cell in Cell.all(data, data.trials, "rtt", condition):
        trials = cell.rows(data.trials)
        pooled = pool(trials, data.histograms, HISTOGRAM)
        floor = sum(pool(trials, data.histograms, FLOOR).values(), EMPTY)
        if pooled:
            figures.append(_figure(cell, pooled, floor))
    return figures


def _figure(
    cell: Cell, pooled: dict[str, LatencyDistribution], floor: LatencyDistribution
) -> Figure:
    """``floor`` is the instrument's own latency in the same trials of all VPNs; it may be empty."""
    scale = scale_for("ns", [found.percentile(50) for found in pooled.values()])
    medians = "; ".join(
        f"{vpn} {scale.text(found.percentile(50))}" for vpn, found in pooled.items()
    )
    return Figure(
        name=slug(f"latency {cell.condition} {cell.name}"),
        title=f"{cell.name}: percentiles",
        caption=(
            "All probes of all trials that count, pooled as histograms. A line ends where fewer "
            f"than ten probes are left beyond it. {_floor_sentence(floor, scale)}"
            f"Parameters: {cell.everything}."
        ),
        alt_text=f"Line chart of round trip time by percentile. Medians: {medians}.",
        panels=(_panel(cell.data, pooled, floor, scale),),
        table=_table(cell, pooled, floor, scale),
    )


def _panel(
    data: Data,
    pooled: dict[str, LatencyDistribution],
    floor: LatencyDistribution,
    scale: Scale,
) -> Panel:
    curve: Records = []
    named: Records = []
    for vpn in data.vpns:
        if vpn in pooled:
            curve += _curve(vpn, pooled[vpn], scale)
            named += _named(vpn, pooled[vpn], scale)
    own = _curve(FLOOR_NAME, floor, scale)
    around = _around(curve, named, own)
    x = alt.X(
        "rarity:Q",
        title="percentile of all probes (rarer to the right)",
        scale=alt.Scale(type="log", domain=[2, 12_000], nice=False),
        axis=alt.Axis(values=_TICKS, labelExpr=_TICK_TEXT, grid=True),
    )
    y = alt.Y(
        "value:Q",
        title="round trip (logarithmic), less is better",
        scale=alt.Scale(type="log", nice=False, domain=around),
        axis=alt.Axis(values=_ticks(around[0], around[1], scale), labelExpr=_unit_text(scale)),
    )
    return layered(
        [
            *_floor_layer(own, x, y),
            alt.Chart(source(curve))
            .mark_line(interpolate="step-before", strokeWidth=2.2, clip=True)
            .encode(x=x, y=y, color=vpn_colour(data, legend=list(pooled))),
            alt.Chart(source(named))
            .mark_point(size=62, filled=True, opacity=1)
            .encode(
                x=x,
                y=y,
                color=vpn_colour(data, legend=list(pooled)),
                shape=vpn_shape(data, legend=list(pooled)),
                tooltip=[
                    VPN_TIP,
                    alt.Tooltip("percent:N", title="percentile"),
                    alt.Tooltip("shown:N", title="round trip"),
                    alt.Tooltip("probes:Q", title="probes", format=",d"),
                ],
            ),
        ],
        "Round trip",
        HEIGHT_PX,
    )


def _floor_layer(own: Records, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    if not own:
        return []
    line = alt.Chart(source(own)).mark_line(
        interpolate="step-before", strokeWidth=1.4, strokeDash=[5, 4], color="#7a7a7a", clip=True
    )
    return [line.encode(x=x, y=y)]


def _floor_sentence(floor: LatencyDistribution, scale: Scale) -> str:
    """The least round trip that the instrument can measure; empty if it was not measured."""
    if not floor.total:
        return ""
    parts = [f"{scale.text(floor.percentile(50))} at the median"]
    if floor.supports(99):
        parts.append(f"{scale.text(floor.percentile(99))} at 99\u00a0%")
    return (
        "The dashed line is the instrument itself, over loopback in the same trials: "
        f"{' and '.join(parts)}. "
    )


def _around(*records: Records) -> list[float]:
    """A little more than the range of the values; an HDR histogram may contain a zero."""
    values = [max(record["value"], 1e-3) for some in records for record in some]
    return [min(values, default=1.0) / 1.25, max(values, default=1.0) * 1.25]


def _ticks(low: float, high: float, scale: Scale) -> list[float]:
    """Ticks from low to high, in the scale's unit: 1, 2 and 5 of each power of ten in
    nanoseconds, or only the powers if there are many."""
    low_ns, high_ns = low * scale.factor, high * scale.factor
    powers = range(math.floor(math.log10(low_ns)), math.ceil(math.log10(high_ns)) + 1)
    steps = (1, 2, 5) if math.log10(high_ns / low_ns) <= FEW_DECADES else (1,)
    ticks = [step * 10.0**power for power in powers for step in steps]
    return [tick / scale.factor for tick in ticks if low_ns <= tick <= high_ns]


def _unit_text(scale: Scale) -> str:
    """An expression that formats an axis value with its unit: 10 ms, not 10,000 µs."""
    ns = f"round(datum.value * {scale.factor:.0f})"
    steps = ((1e9, "s"), (1e6, "ms"), (1e3, "\u00b5s"))
    text = f"{ns} + ' ns'"
    for factor, unit in reversed(steps):
        least = f"{ns} >= {factor:.0f}"
        text = f"{least} ? format({ns} / {factor:.0f}, '~r') + ' {unit}' : {text}"
    return text


def _curve(vpn: str, found: LatencyDistribution, scale: Scale) -> Records:
    last = min(1e4, found.total / 10)
    if last < 2:
        return []
    return [
        {
            "vpn": vpn,
            "rarity": float(rarity),
            "value": found.percentile(100 * (1 - 1 / rarity)) / scale.factor,
        }
        for rarity in np.geomspace(2, last, STEPS)
    ]


def _named(vpn: str, found: LatencyDistribution, scale: Scale) -> Records:
    return [
        {
            "vpn": vpn,
            "rarity": rarity,
            "value": found.percentile(percent) / scale.factor,
            "percent": f"{percent:g} %",
            "shown": scale.text(found.percentile(percent)),
            "probes": found.total,
        }
        for percent, rarity in zip(PERCENTILES, _TICKS, strict=True)
        if found.supports(percent)
    ]


def _table(
    cell: Cell,
    pooled: dict[str, LatencyDistribution],
    floor: LatencyDistribution,
    scale: Scale,
) -> FigureTable:
    medians = cell.summary("rtt_p50_us")
    per_us = Scale(scale.factor / 1000, scale.name)
    rows = [
        (vpn, median_text(medians, vpn, per_us), *_percentiles(pooled.get(vpn), scale))
        for vpn in cell.data.vpns
    ]
    if floor.total:
        rows.append((FLOOR_NAME, NOTHING, *_percentiles(floor, scale)))
    return FigureTable(
        (
            "VPN",
            f"median of trials [95 %], {scale.name}",
            *(f"{percent:g} %, {scale.name}" for percent in PERCENTILES),
            "probes",
        ),
        "l" + "r" * (len(PERCENTILES) + 2),
        tuple(rows),
    )


def _percentiles(found: LatencyDistribution | None, scale: Scale) -> list[str]:
    """One cell per percentile, and the number of probes."""
    if found is None:
        return [NOTHING] * len(PERCENTILES) + ["0"]
    cells = [
        scale.number(found.percentile(percent)) if found.supports(percent) else "too few probes"
        for percent in PERCENTILES
    ]
    return [*cells, f"{found.total:,}"]
