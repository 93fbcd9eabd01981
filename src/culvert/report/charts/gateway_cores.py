"""A gateway over its cores: goodput with the fitted law, for each number of clients."""

from __future__ import annotations

from culvert.analysis.gateway import CORES, KIND, by_cores, cores_of
from culvert.analysis.observations import pick
from culvert.files.names import slug
from culvert.report.charts.over import Over, goodput_over
from culvert.report.labels import everything
from culvert.report.model import Data, Figure, FigureTable
from culvert.report.numbers import scale_for

OVER_CORES = Over(CORES, "cores of the gateway")
GOODPUT = "goodput_bps"


def gateway_core_figures(data: Data, condition: str) -> list[Figure]:
    """One figure per load that was measured with several numbers of cores; it is with the first of
    their conditions."""
    return [
        _figure(data, group, parameters)
        for group in cores_of(data.run.conditions)
        if condition == next(iter(group))
        for parameters in _measured(data, group)
    ]


def _measured(data: Data, group: dict[str, int]) -> list[str]:
    rows = pick(by_cores(data.summary, group), GOODPUT)
    return [
        parameters
        for (parameters,), part in rows.group_by("parameters", maintain_order=True)
        if part[CORES].n_unique() > 1
    ]


def _figure(data: Data, group: dict[str, int], parameters: str) -> Figure:
    rows = pick(by_cores(data.summary, group), GOODPUT).filter(parameters=parameters)
    observed = pick(by_cores(data.observed, group), GOODPUT).filter(parameters=parameters)
    scale = scale_for("bit/s", rows["median"].to_list())
    shown, fitted = goodput_over(data, rows, observed, OVER_CORES)
    words = everything(KIND, parameters)
    name = f"Many clients of one gateway, {words}"
    return Figure(
        name=slug(f"{KIND} cores {words}"),
        title=f"{name}: over the gateway's cores",
        caption=(
            "Conditions that differ in the gateway's cores alone; the generators have the others. "
            f"Marks are medians of the trials, vertical lines 95 % intervals. {fitted}"
        ),
        alt_text=f"Goodput for {', '.join(map(str, sorted(group.values())))} cores.",
        panels=(shown,),
        table=FigureTable(
            ("VPN", "cores", "goodput, median [95 %]", "trials"),
            "lrrr",
            tuple(
                (
                    row["vpn"],
                    str(row[CORES]),
                    scale.with_unit_and_interval(row["median"], row["low"], row["high"]),
                    str(row["n"]),
                )
                for row in rows.sort("vpn", CORES).iter_rows(named=True)
            ),
        ),
    )
