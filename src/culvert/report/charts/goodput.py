"""Goodput next to CPU utilisation, as figures 2 to 5 of dekker2020."""

from __future__ import annotations

import polars as pl

from culvert.analysis.observations import pick
from culvert.labs.registry import on_this_machine
from culvert.report.charts.common import bars_with_trials
from culvert.report.charts.cpu_modes import Cell, all_busy, cpu_columns, cpu_panel
from culvert.report.labels import cells_of, everything, slug
from culvert.report.model import Data, Figure, FigureTable
from culvert.report.numbers import Scale, scale_for
from culvert.results import Parameters


def goodput_figures(data: Data, condition: str) -> list[Figure]:
    """One figure per cell of tcp and udp with a trial that counts."""
    figures = []
    for measurement in ("tcp", "udp"):
        found = pick(data.summary, "goodput_bps", measurement=measurement)
        cells = cells_of(found, measurement, condition)
        figures += [_figure(data, condition, measurement, parameters) for parameters in cells]
    return figures


def _figure(data: Data, condition: str, measurement: str, parameters: str) -> Figure:
    def cell(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
        return pick(
            frame, metric, measurement=measurement, condition=condition, parameters=parameters
        )

    goodput = cell(data.summary, "goodput_bps")
    scale = scale_for("bit/s", goodput["median"].to_list())
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
    cpu, (names, shares) = cpu_panel(data, cell), cpu_columns(data, cell)
    if cpu is not None:
        panels.append(cpu)
    ceiling = cell(data.summary, "ceiling_goodput_bps")
    limited = not ceiling.is_empty()
    rows = []
    for vpn in data.vpns:
        own = goodput.filter(pl.col("vpn") == vpn)
        rows.append(
            (
                vpn,
                _with_interval(own, scale),
                _text(own, "mean", scale),
                _text(own, "sd", scale),
                f"{100 * own['cv'][0]:.1f} %" if len(own) and own["cv"][0] else "\u2013",
                *shares[vpn],
                *(
                    (_text(ceiling.filter(pl.col("vpn") == vpn), "median", scale),)
                    if limited
                    else ()
                ),
                str(own["n"][0]) if len(own) else "0",
            )
        )
    table = FigureTable(
        (
            "VPN",
            f"goodput, median [95 %], {scale.name}",
            f"mean, {scale.name}",
            f"sd, {scale.name}",
            "cv",
            *names,
            *((f"ceiling of the bare link, {scale.name}",) if limited else ()),
            "trials",
        ),
        "l" + "r" * (5 + len(names) + limited),
        tuple(rows),
    )
    heights = "; ".join(
        f"{row['vpn']} {scale.text(row['median'], row['low'], row['high'])}"
        for row in goodput.iter_rows(named=True)
    )
    return Figure(
        name=slug(f"goodput {condition} {name}"),
        title=f"{name}: goodput and CPU",
        caption=_caption(data, measurement, parameters, cell, cpu_shown=cpu is not None),
        alt_text=f"Bar chart of median goodput: {heights}.",
        panels=tuple(panels),
        table=table,
    )


def _caption(data: Data, measurement: str, parameters: str, cell: Cell, *, cpu_shown: bool) -> str:
    parts = [
        "Goodput: bars are medians, whiskers 95 % intervals, rings single trials from the first "
        "block (top) to the last (bottom)."
    ]
    if cpu_shown:
        parts.append(
            "CPU: bars are means over the trials, because parts add up and medians do not; rings "
            "are the trials' totals."
        )
        if on_this_machine(data.run.lab):
            parts.append(
                "Both nodes share one kernel, so this is the whole machine: both ends of the "
                "tunnel, the measuring programs and whatever else ran."
            )
    elif all_busy(data, cell):
        parts.append(
            "CPU: all CPUs were busy with every VPN, so utilisation does not tell them apart; "
            "CPU per gigabyte does."
        )
    if measurement == "udp" and Parameters(parameters).values.get("rate", "") is None:
        parts.append(
            "The sender offers as many packets as it can and competes with the VPN for the "
            "node's CPU: goodput under such a flood is a floor, not the most the VPN can carry."
        )
    parts.append(f"Parameters: {everything(measurement, parameters)}.")
    return " ".join(parts)


def _with_interval(row: pl.DataFrame, scale: Scale) -> str:
    if row.is_empty():
        return "\u2013"
    return scale.with_interval(row["median"][0], row["low"][0], row["high"][0])


def _text(row: pl.DataFrame, column: str, scale: Scale) -> str:
    if row.is_empty() or row[column][0] is None:
        return "\u2013"
    return scale.number(row[column][0])
