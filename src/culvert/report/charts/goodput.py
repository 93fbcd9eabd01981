"""Goodput next to CPU utilisation, as figures 2 to 5 of dekker2020."""

from __future__ import annotations

import polars as pl

from culvert.analysis.observations import pick
from culvert.files.names import slug
from culvert.labs.registry import on_this_machine
from culvert.report.charts.cell import NOTHING, Cell, median_text
from culvert.report.charts.common import bars_with_trials
from culvert.report.charts.cpu_modes import all_busy, cpu_columns, cpu_panel
from culvert.report.model import Data, Figure, FigureTable
from culvert.report.numbers import Scale, scale_for
from culvert.results import Parameters


def goodput_figures(data: Data, condition: str) -> list[Figure]:
    """One figure per cell of tcp and udp with a trial that counts."""
    return [
        _figure(data, cell)
        for measurement in ("tcp", "udp")
        for cell in Cell.all(
            data, pick(data.summary, "goodput_bps", measurement=measurement), measurement, condition
        )
    ]


def _figure(data: Data, cell: Cell) -> Figure:
    goodput = cell.summary("goodput_bps")
    scale = scale_for("bit/s", goodput["median"].to_list())
    axis = f"{scale.name}, more is better"
    trials = cell.observed("goodput_bps")
    panels = [bars_with_trials(data, goodput, trials, scale, "Goodput", axis)]
    cpu = cpu_panel(cell)
    cost = cell.summary("cpu_s_per_gb")
    if cpu is not None:
        panels.append(cpu)
    elif not cost.is_empty():
        title, unit = "CPU per gigabyte", Scale(1.0, "s/GB")
        own = cell.observed("cpu_s_per_gb")
        panels.append(bars_with_trials(data, cost, own, unit, title, "s/GB, less is better"))
    heights = "; ".join(
        f"{row['vpn']} {scale.text(row['median'], row['low'], row['high'])}"
        for row in goodput.iter_rows(named=True)
    )
    return Figure(
        name=slug(f"goodput {cell.condition} {cell.name}"),
        title=f"{cell.name}: goodput and CPU",
        caption=_caption(cell, cpu_shown=cpu is not None),
        alt_text=f"Bar chart of median goodput: {heights}.",
        panels=tuple(panels),
        table=_table(cell, goodput, scale),
    )


def _table(cell: Cell, goodput: pl.DataFrame, scale: Scale) -> FigureTable:
    names, shares = cpu_columns(cell)
    ceiling = cell.summary("ceiling_goodput_bps")
    limited = not ceiling.is_empty()
    rows = []
    for vpn in cell.data.vpns:
        own = goodput.filter(vpn=vpn)
        rows.append(
            (
                vpn,
                median_text(goodput, vpn, scale),
                _text(own, "mean", scale),
                _text(own, "sd", scale),
                f"{100 * own['cv'][0]:.1f} %" if len(own) and own["cv"][0] else NOTHING,
                *shares[vpn],
                *((_text(ceiling.filter(vpn=vpn), "median", scale),) if limited else ()),
                str(own["n"][0]) if len(own) else "0",
            )
        )
    columns = (
        "VPN",
        f"goodput, median [95 %], {scale.name}",
        f"mean, {scale.name}",
        f"sd, {scale.name}",
        "cv",
        *names,
        *((f"ceiling of the bare link, {scale.name}",) if limited else ()),
        "trials",
    )
    return FigureTable(columns, "l" + "r" * (len(columns) - 1), tuple(rows))


def _caption(cell: Cell, *, cpu_shown: bool) -> str:
    parts = [
        "Goodput: bars are medians, whiskers 95 % intervals, rings single trials from the first "
        "block (top) to the last (bottom)."
    ]
    if cpu_shown:
        parts.append(
            "CPU: bars are means over the trials, because parts add up and medians do not; rings "
            "are the trials' totals."
        )
        if on_this_machine(cell.data.run.lab):
            parts.append(
                "Both nodes share one kernel, so this is the whole machine: both ends of the "
                "tunnel, the measuring programs and whatever else ran."
            )
    elif all_busy(cell):
        parts.append(
            "CPU: all CPUs were busy with every VPN, so utilisation does not tell them apart: this "
            "is CPU time per gigabyte."
        )
    if cell.measurement == "udp" and Parameters(cell.parameters).values.get("rate", "") is None:
        parts.append(
            "The sender offers as many packets as it can and competes with the VPN for the "
            "node's CPU: goodput under such a flood is a floor, not the most the VPN can carry."
        )
    parts.append(f"Parameters: {cell.everything}.")
    return " ".join(parts)


def _text(row: pl.DataFrame, column: str, scale: Scale) -> str:
    if row.is_empty() or row[column][0] is None:
        return NOTHING
    return scale.number(row[column][0])
