"""Figures of a gateway over a number, its clients or its cores: marks with intervals, and the
fitted scalability law beneath them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np
import polars as pl

from culvert.report.charts.common import Records, layered, source, vpn_colour, vpn_shape
from culvert.report.model import Data, Panel
from culvert.report.numbers import Scale, scale_for
from culvert.statistics.scalability import REACH, Scalability, fit_scalability

HEIGHT_PX = 260
POINTS = 40


@dataclass(frozen=True)
class Over:
    """The number on the horizontal axis: the column that has it, and its title."""

    column: str
    title: str

    def x(self, counts: Sequence[int]) -> alt.X:
        """The axis, logarithmic, with a tick at each measured number."""
        return alt.X(
            "n:Q",
            title=f"{self.title} (logarithmic)",
            scale=alt.Scale(type="log", nice=False, padding=18),
            axis=alt.Axis(values=list(counts), format="d", grid=False),
        )


def goodput_over(
    data: Data, rows: pl.DataFrame, trials: pl.DataFrame, over: Over
) -> tuple[Panel, str]:
    """Goodput with the fitted laws, and what the caption says of them; of ``pick``'s rows."""
    scale = scale_for("bit/s", rows["median"].to_list())
    found = _laws(data, trials, over)
    titles = "Goodput of all clients together", f"{scale.name}, more is better"
    shown = panel(data, rows, scale, titles, over, _law_layers(data, found, rows, scale, over))
    if not found:
        return shown, (
            f"A curve (Universal Scalability Law) is drawn from four numbers of {over.column} with "
            "three trials each on."
        )
    fitted = "; ".join(f"{vpn}: {_in_words(law, over)}" for vpn, law in found.items())
    return shown, (
        "Dashed: a curve through the medians (Universal Scalability Law) with its 95 % interval, "
        f"up to {REACH:g} times the largest measured number of {over.title}; a vertical line is "
        "its knee, where goodput is highest. Contention is the part of the work that is done one "
        f"after another, coherency the part that each pair of {over.title} adds. {fitted}."
    )


def _laws(data: Data, trials: pl.DataFrame, over: Over) -> Mapping[str, Scalability]:
    """The fitted law of each VPN with enough trials."""
    found = {}
    for vpn in data.vpns:
        values: dict[int, list[float]] = {}
        for n, value in trials.filter(vpn=vpn).select(over.column, "value").iter_rows():
            values.setdefault(n, []).append(value)
        try:
            found[vpn] = fit_scalability(values)
        except ValueError:  # too few to fit it: the caption says what it takes
            continue
    return found


def _in_words(law: Scalability, over: Over) -> str:
    """Its knee and its parameters, with intervals."""
    knee = law.knee
    ends = ", ".join(f"{one:.0f}" if np.isfinite(one) else "none" for one in (knee.low, knee.high))
    top = (
        f"goodput is highest with {knee.value:.0f} {over.title} [{ends}]"
        if np.isfinite(knee.value)
        else f"goodput rises with every number of {over.title} (knee none [{ends}])"
    )
    return (
        f"{top}, contention {law.contention.value:.3g} [{law.contention.low:.3g}, "
        f"{law.contention.high:.3g}], coherency {law.coherency.value:.2g} "
        f"[{law.coherency.low:.2g}, {law.coherency.high:.2g}]"
    )


def _law_layers(
    data: Data, found: Mapping[str, Scalability], rows: pl.DataFrame, scale: Scale, over: Over
) -> list[alt.Chart]:
    """The laws' curves with their intervals, and their knees, for the panel of ``rows``."""
    counts = sorted(set(rows[over.column].to_list()))
    curve: Records = []
    knees: Records = []
    for vpn, law in found.items():
        grid = np.unique(np.geomspace(counts[0], REACH * counts[-1], POINTS).round().astype(int))
        for n in grid.tolist():
            at = law.at(n)
            curve.append(
                {
                    "vpn": vpn,
                    "n": n,
                    "value": at.value / scale.factor,
                    "low": at.low / scale.factor,
                    "high": at.high / scale.factor,
                }
            )
        if law.knee.value <= REACH * counts[-1]:
            knees.append({"vpn": vpn, "n": law.knee.value})
    if not curve:
        return []
    base = alt.Chart(source(curve))
    # As the marks above: one layer without a legend would hide that of all.
    colour = vpn_colour(data, legend=present(rows))
    return [
        base.mark_area(opacity=0.12).encode(
            x=over.x(counts), y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour
        ),
        base.mark_line(strokeDash=[5, 4], strokeWidth=1.6).encode(
            x=over.x(counts), y=alt.Y("value:Q"), color=colour
        ),
        alt.Chart(source(knees))
        .mark_rule(strokeDash=[2, 3], strokeWidth=1.6)
        .encode(x=over.x(counts), color=colour),
    ]


def present(rows: pl.DataFrame) -> list[str]:
    """The VPNs of the rows."""
    return sorted(set(rows["vpn"].to_list()))


def panel(
    data: Data,
    rows: pl.DataFrame,
    scale: Scale,
    titles: tuple[str, str],
    over: Over,
    beneath: Sequence[alt.Chart] = (),
) -> Panel:
    """Medians with intervals; ``titles`` are the panel's and its axis's."""
    title, axis = titles
    marks: Records = [
        {
            "vpn": row["vpn"],
            "n": row[over.column],
            "value": scale.of(row["median"]),
            "low": scale.of(row["low"]),
            "high": scale.of(row["high"]),
            "shown": scale.with_unit_and_interval(row["median"], row["low"], row["high"]),
            "trials": row["n"],
        }
        for row in rows.sort(over.column).iter_rows(named=True)
    ]
    counts = sorted({mark["n"] for mark in marks})
    x, y = over.x(counts), alt.Y("value:Q", title=axis, scale=alt.Scale(zero=True))
    shown = present(rows)
    colour = vpn_colour(data, legend=shown)
    base = alt.Chart(source(marks))
    return layered(
        [
            *beneath,
            base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
            base.transform_filter("isValid(datum.low)")
            .mark_rule(strokeWidth=2)
            .encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour),
            base.mark_point(filled=True, size=64, opacity=1).encode(
                x=x,
                y=y,
                color=colour,
                shape=vpn_shape(data, legend=shown),
                tooltip=[
                    alt.Tooltip("vpn:N", title="VPN"),
                    alt.Tooltip("n:Q", title=over.column),
                    alt.Tooltip("shown:N", title="median [95 %]"),
                    alt.Tooltip("trials:Q", title="trials"),
                ],
            ),
        ],
        title,
        HEIGHT_PX,
    )
