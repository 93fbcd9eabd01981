"""The series of one cell and metric as a chart: a line per VPN, its levels, its changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

from culvert.history.series import Series
from culvert.history.words import labels_of, metric_title, shifts_of
from culvert.report.labels import slug
from culvert.report.model import Figure, FigureTable
from culvert.report.numbers import scale_for
from culvert.report.palette import colours

HEIGHT_PX = 240
MOST_POINTS = 400
"""Of a line: a longer one has the medians of equal parts of its runs."""


def trends(series: Sequence[Series]) -> Iterator[Figure]:
    """One figure per study, machine, condition, cell and metric with at least two runs."""
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
            yield _figure(f"trend-{slug(study)}-{number}", title, first.machine, lines)


def _cell(series: Series) -> tuple[str, str, str]:
    return series.measurement, series.parameters, series.metric


def _figure(name: str, title: str, machine: str, lines: Sequence[Series]) -> Figure:
    scale = scale_for(lines[0].unit, [level for one in lines for level in one.levels])
    vpns = [one.vpn for one in lines]
    points: list[dict[str, Any]] = []
    levels: list[dict[str, Any]] = []
    rows = []
    for one in lines:
        step = -(-len(one.points) // MOST_POINTS)
        shown = one.points.gather_every(step)
        points += [
            {"vpn": one.vpn, "at": at, "value": value / scale.factor, "version": version}
            for at, version, value in shown.select("started_at", "version", "median").iter_rows()
        ]
        times = one.points["started_at"].to_list()
        ends = [0, *(shift.place for shift in one.shifts), len(times)]
        for (begin, end), level in zip(pairwise(ends), one.levels, strict=True):
            levels.append(
                {
                    "vpn": one.vpn,
                    "at": times[begin],
                    "to": times[end - 1],
                    "value": level / scale.factor,
                }
            )
        first = (one.vpn, str(len(times)), scale.text(one.levels[0]), scale.text(one.levels[-1]))
        changes = [
            "; ".join((f"{found.when} {found.change} {found.levels}", *found.beside))
            for found in shifts_of(one)
        ]
        rows.append((*first, " / ".join(changes) or "\u2013"))
    x = {"field": "at", "type": "temporal", "title": None}
    y = {
        "field": "value",
        "type": "quantitative",
        "title": scale.name,
        "scale": {"zero": False},
    }
    hues = colours(vpns)
    colour = {
        "field": "vpn",
        "type": "nominal",
        "title": None,
        "scale": {"domain": vpns, "range": [hues[vpn] for vpn in vpns]},
    }
    tooltip = [{"field": name} for name in ("vpn", "at", "value", "version")]
    panel = {
        "width": "container",
        "height": HEIGHT_PX,
        "layer": [
            {
                "data": {"values": points},
                "mark": {"type": "point", "filled": True, "opacity": 0.6, "size": 36},
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": colour,
                    "shape": {
                        "field": "vpn",
                        "type": "nominal",
                        "title": None,
                        "scale": {"domain": vpns},
                    },
                    "tooltip": tooltip,
                },
            },
            {
                "data": {"values": levels},
                "mark": {"type": "rule", "strokeWidth": 2.5},
                "encoding": {"x": x, "x2": {"field": "to"}, "y": y, "color": colour},
            },
        ],
    }
    count = sum(len(one.shifts) for one in lines)
    said = "no change found" if not count else f"{count} changes" if count > 1 else "1 change"
    return Figure(
        name,
        title,
        f"{machine}. Dots are medians of runs, lines are levels: {said}.",
        f"{title}, over time, a line for each of {', '.join(vpns)}; {said}",
        (panel,),
        FigureTable(("VPN", "runs", "first level", "now", "changes"), "lrrrl", tuple(rows)),
    )
