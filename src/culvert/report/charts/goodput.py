"""Goodput with CPU utilisation beside it, as dekker2020's figures 2 to 5."""

from __future__ import annotations

import polars as pl

from culvert.analysis.observations import contexts, pick
from culvert.report.charts.common import bars_with_trials
from culvert.report.labels import everything, order, slug
from culvert.report.model import Data, Figure, Table
from culvert.report.numbers import Scale, scale_for


def goodput_figures(data: Data, condition: str) -> list[Figure]:
    """One figure per cell of tcp and udp that has a trial that counts."""
    figures = []
    for measurement in ("tcp", "udp"):
        found = pick(data.summary, "goodput_bps", measurement=measurement)
        cells = [p for c, p in contexts(found, measurement) if c == condition]
        figures += [_figure(data, condition, measurement, p) for p in sorted(cells, key=order)]
    return figures


def _figure(data: Data, condition: str, measurement: str, parameters: str) -> Figure:
    def cell(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
        return pick(frame, metric, measurement=measurement).filter(
            pl.col("condition") == condition, pl.col("parameters") == parameters
        )

    goodput, cpu = cell(data.summary, "goodput_bps"), cell(data.summary, "cpu_percent")
    scale, plain = scale_for("bit/s", goodput["median"].to_list()), Scale(1.0, "%")
    name = data.labels.cell(condition, measurement, parameters)
    panels = [
        bars_with_trials(
            data,
            goodput,
            cell(data.observed, "goodput_bps"),
            scale,
            "Goodput",
            f"{scale.name}, more is better",
        )
    ]
    if not cpu.is_empty():
        panels.append(
            bars_with_trials(
                data,
                cpu,
                cell(data.observed, "cpu_percent"),
                plain,
                "CPU meanwhile",
                "% of one core, summed over all cores; less is better",
            )
        )
    rows = []
    for vpn in data.vpns:
        told = goodput.filter(pl.col("vpn") == vpn)
        used = cpu.filter(pl.col("vpn") == vpn)
        rows.append(
            (
                vpn,
                _with_interval(told, scale),
                _text(told, "mean", scale),
                _text(told, "sd", scale),
                f"{100 * told['cv'][0]:.1f} %" if len(told) and told["cv"][0] else "\u2013",
                _with_interval(used, plain),
                *(
                    _text(cell(data.summary, metric).filter(pl.col("vpn") == vpn), "median", plain)
                    for metric in _MODES
                ),
                str(told["n"][0]) if len(told) else "0",
            )
        )
    table = Table(
        (
            "VPN",
            f"goodput, median [95 %], {scale.name}",
            f"mean, {scale.name}",
            f"sd, {scale.name}",
            "cv",
            "CPU, median [95 %], %",
            "user, %",
            "system, %",
            "softirq, %",
            "trials",
        ),
        "lrrrrrrrrr",
        tuple(rows),
    )
    heights = "; ".join(
        f"{row['vpn']} {scale.text(row['median'], row['low'], row['high'])}"
        for row in goodput.iter_rows(named=True)
    )
    return Figure(
        name=slug(f"goodput {condition} {name}"),
        title=f"{name}: goodput and CPU",
        caption=(
            "Bars are medians, whiskers 95 % intervals, rings single trials from the first block "
            f"(top) to the last (bottom). Parameters: {everything(parameters)}."
        ),
        alt_text=f"Bar chart of median goodput: {heights}.",
        panels=tuple(panels),
        table=table,
    )


_MODES = ("cpu_user_percent", "cpu_system_percent", "cpu_softirq_percent")


def _with_interval(row: pl.DataFrame, scale: Scale) -> str:
    if row.is_empty():
        return "\u2013"
    return scale.with_interval(row["median"][0], row["low"][0], row["high"][0])


def _text(row: pl.DataFrame, column: str, scale: Scale) -> str:
    if row.is_empty() or row[column][0] is None:
        return "\u2013"
    return scale.number(row[column][0])
