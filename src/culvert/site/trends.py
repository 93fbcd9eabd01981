"""The series of one cell and metric as a chart: a line per VPN, its levels, its changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

from culvert.files.names import slugs
from culvert.history.series import Series
from culvert.history.words import labels_of, metric_title, shifts_of
from culvert.report.model import Figure, FigureTable, Panel
from culvert.report.numbers import Scale, scale_for
from culvert.report.palette import colours

HEIGHT_PX = 240
MOST_POINTS = 400
"""Of a line: a longer one has the medians of equal parts of its runs."""


def trends(series: Sequence[Series]) -> Iterator[Figure]:
    """One figure per study, machine, condition, cell and metric with at least two runs."""
    short = slugs(one.study for one in series)
    for study, of_study in groupby(series, lambda one: one.study):
        own = list(of_study)
        labels = labels_of(own)
        cells = groupby(own, lambda one: (one.machine, one.condition, *_cell(one)))
        for number, (_, group) in enumerate(cells):
            lines = list(group)
            if max(len(one.points) for one in lines) < 2:
                continue
            first = lines[0]
            cell = labels.cell(first.condition, first.measurement, first.parameters)
            title = f"{metric_title(first)}: {cell}"
            yield _figure(f"trend-{short[study]}-{number}", title, first.machine, lines)


def _cell(series: Series) -> tuple[str, str, str]:
    return series.measurement, series.parameters, series.metric


def _figure(name: str, title: str, machine: str, lines: Sequence[Series]) -> Figure:
    scale = scale_for(lines[0].unit, [level for one in lines for level in one.levels])
    count = sum(len(one.shifts) for one in lines)
    said = "no change found" if not count else f"{count} changes" if count > 1 else "1 change"
    vpns = ", ".join(one.vpn for one in lines)
    return Figure(
        name,
        title,
        f"{machine}. Dots are medians of runs, lines are levels: {said}.",
        f"{title}, over time, a line for each of {vpns}; {said}",
        (_panel(lines, scale),),
        FigureTable(
            ("VPN", "runs", "first level", "now", "changes"),
            "lrrrl",
            tuple(_row(one, scale) for one in lines),
        ),
    )


def _row(one: Series, scale: Scale) -> tuple[str, ...]:
    changes = [
        "; ".join((f"{found.when} {found.change} {found.levels}", *found.beside))
        for found in shifts_of(one)
    ]
    first, now = scale.text(one.levels[0]), scale.text(one.levels[-1])
    return one.vpn, str(len(one.points)), first, now, " / ".join(changes) or "\u2013"


def _points(one: Series, scale: Scale) -> Iterator[dict[str, Any]]:
    shown = one.points.gather_every(-(-len(one.points) // MOST_POINTS))
    for at, version, value in shown.select("started_at", "version", "median").iter_rows():
        yield {"vpn": one.vpn, "at": at, "value": value / scale.factor, "version": version}


def _levels(one: Series, scale: Scale) -> Iterator[dict[str, Any]]:
    times = one.points["started_at"].to_list()
    ends = [0, *(shift.place for shift in one.shifts), len(times)]
    for (begin, end), level in zip(pairwise(ends), one.levels, strict=True):
        value = level / scale.factor
        yield {"vpn": one.vpn, "at": times[begin], "to": times[end - 1], "value": value}


def _panel(lines: Sequence[Series], scale: Scale) -> Panel:
    vpns = [one.vpn for one in lines]
    hues = colours(vpns)
    places = {
        "x": {"field": "at", "type": "temporal", "title": None},
        "y": {
            "field": "value",
            "type": "quantitative",
            "title": scale.name,
            "scale": {"zero": False},
        },
    }
    of_vpn = {"field": "vpn", "type": "nominal", "title": None}
    colour = of_vpn | {"scale": {"domain": vpns, "range": [hues[vpn] for vpn in vpns]}}
    shape = of_vpn | {"scale": {"domain": vpns}}
    tooltip = [{"field": name} for name in ("vpn", "at", "value", "version")]
    points = [point for one in lines for point in _points(one, scale)]
    levels = [level for one in lines for level in _levels(one, scale)]
    return {
        "width": "container",
        "height": HEIGHT_PX,
        "layer": [
            {
                "data": {"values": points},
                "mark": {"type": "point", "filled": True, "opacity": 0.6, "size": 36},
                "encoding": {**places, "color": colour, "shape": shape, "tooltip": tooltip},
            },
            {
                "data": {"values": levels},
                "mark": {"type": "rule", "strokeWidth": 2.5},
                "encoding": {**places, "x2": {"field": "to"}, "color": colour},
            },
        ],
    }
