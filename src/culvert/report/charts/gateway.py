"""A gateway over its number of clients: goodput with the fitted law, delay, CPU, and the clients'
shares; and the timeline of a storm of sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from culvert.analysis.gateway import CLIENTS, KIND, by_clients
from culvert.analysis.observations import pick
from culvert.files.names import slug
from culvert.json_text import read_json
from culvert.report.charts.cell import NOTHING
from culvert.report.charts.common import Records, layered, source, vpn_colour
from culvert.report.charts.over import HEIGHT_PX, Over, goodput_over, panel
from culvert.report.labels import Labels, cells_of, everything
from culvert.report.model import Data, Figure, FigureTable, Panel
from culvert.report.numbers import scale_for

STORM = "session_storm"
OVER_CLIENTS = Over(CLIENTS, "clients")
SHARES = {"0": "least", "0.25": "q1", "0.5": "middle", "0.75": "q3", "1": "greatest"}
"""The drawn quantiles of the clients, by label."""


@dataclass(frozen=True)
class _Line:
    """A metric that is drawn over N."""

    metric: str
    title: str
    better: str


OTHERS = (
    _Line("rtt_loaded_p99_us", "Round trip beside the load, 99\u00a0%", "less is better"),
    _Line("gateway_cpu_percent", "CPU of the gateway", "less is better"),
)


def gateway_figures(data: Data, condition: str) -> list[Figure]:
    """One figure per kind of load with trials that count, and one per storm."""
    here = by_clients(data.summary).filter(condition=condition)
    loads = sorted(set(here["load"].to_list()))
    differing = Labels(here.select("condition", "measurement", parameters="load"))
    return [
        *(
            _figure(data, condition, here.filter(load=load), differing.parameters(KIND, load))
            for load in loads
        ),
        *(_storm(data, condition, cell) for cell in cells_of(data.trials, STORM, condition)),
    ]


def _figure(data: Data, condition: str, here: pl.DataFrame, differing: str) -> Figure:
    """``differing`` distinguishes the load from the others, if there are any."""
    load = here["load"][0]
    observed = by_clients(data.observed).filter(condition=condition, load=load)
    goodput = pick(here, "goodput_bps")
    counts = sorted(set(goodput[CLIENTS].to_list()))
    shown, fitted = goodput_over(data, goodput, pick(observed, "goodput_bps"), OVER_CLIENTS)
    panels = [shown]
    for line in OTHERS:
        rows = pick(here, line.metric)
        if not rows.is_empty():
            own = scale_for(rows["unit"][0], rows["median"].to_list())
            titles = line.title, f"{own.name}, {line.better}"
            panels.append(panel(data, rows, own, titles, OVER_CLIENTS))
    panels += _shares(data, here, goodput)
    words = everything(KIND, load)
    name = ", ".join(filter(None, ("Many clients of one gateway", differing)))
    return Figure(
        name=slug(f"{KIND} {condition} {name}"),
        title=f"{name}: over the number of clients",
        caption=(
            f"Marks are medians of the trials, vertical lines 95 % intervals. {fitted} "
            "Shares: what single clients got, 1 being an equal share. The box has the middle half "
            "of the clients; the line ends at the client with least and at the one with most. "
            f"Parameters: {words}."
        ),
        alt_text=f"Goodput, delay, CPU and clients' shares for {', '.join(map(str, counts))} "
        "clients.",
        panels=tuple(panels),
        table=_table(data, here, counts),
    )


def _shares(data: Data, here: pl.DataFrame, goodput: pl.DataFrame) -> list[Panel]:
    """Fairness as the distribution of the clients; nothing to share with one."""
    active = pick(here, "active_clients").select("vpn", CLIENTS, active="median")
    means = {
        (vpn, n): median / count
        for vpn, n, median, count in goodput.join(active, on=["vpn", CLIENTS])
        .select("vpn", CLIENTS, "median", "active")
        .iter_rows()
    }
    found: dict[tuple[str, int], dict[str, float]] = {}
    single = here.filter(pl.col("metric") == "client_goodput_bps")
    for vpn, n, labels, value in single.select("vpn", CLIENTS, "labels", "median").iter_rows():
        name = SHARES.get(read_json(labels).get("quantile", ""))
        if name and n > 1 and means.get((vpn, n)):
            found.setdefault((vpn, n), {})[name] = value / means[vpn, n]
    records: Records = [
        {"vpn": vpn, "n": n, **shares} for (vpn, n), shares in sorted(found.items())
    ]
    if not records:
        return []
    present = sorted({record["vpn"] for record in records})
    x = alt.X("n:O", title="clients", axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset("vpn:N", scale=alt.Scale(domain=present))
    colour = vpn_colour(data, legend=present)
    base = alt.Chart(source(records))
    title = "part of an equal share"
    return [
        layered(
            [
                base.mark_rule(strokeWidth=1.6).encode(
                    x=x,
                    xOffset=offset,
                    y=alt.Y("least:Q", title=title),
                    y2=alt.Y2("greatest:Q"),
                    color=colour,
                ),
                base.mark_bar(width=14, opacity=0.7).encode(
                    x=x, xOffset=offset, y=alt.Y("q1:Q"), y2=alt.Y2("q3:Q"), color=colour
                ),
                base.mark_tick(style="ink", thickness=2, width=14).encode(
                    x=x,
                    xOffset=offset,
                    y=alt.Y("middle:Q"),
                    tooltip=[
                        alt.Tooltip("vpn:N", title="VPN"),
                        *(alt.Tooltip(f"{one}:Q", format=".2f") for one in SHARES.values()),
                    ],
                ),
            ],
            "Shares of the clients",
            HEIGHT_PX,
        )
    ]


def _table(data: Data, here: pl.DataFrame, counts: Sequence[int]) -> FigureTable:
    shown = {
        "goodput_bps": "goodput",
        "fairness": "fairness",
        "slowest_share": "slowest's part",
        "rtt_loaded_p99_us": "round trip, 99 %",
        "gateway_cpu_percent": "gateway's CPU",
        "gateway_memory_bytes_per_client": "memory per client",
    }
    rows = []
    for vpn in data.vpns:
        for n in counts:
            cell = here.filter(pl.col("vpn") == vpn, pl.col(CLIENTS) == n)
            if cell.is_empty():
                continue
            trials = pick(cell, "goodput_bps")["n"]
            texts = [_text(pick(cell, metric)) for metric in shown]
            rows.append((vpn, str(n), *texts, str(trials[0]) if len(trials) else "0"))
    columns = ("VPN", "clients", *(f"{one}, median [95 %]" for one in shown.values()), "trials")
    return FigureTable(columns, "l" + "r" * (len(columns) - 1), tuple(rows))


def _text(row: pl.DataFrame) -> str:
    if row.is_empty():
        return NOTHING
    scale = scale_for(row["unit"][0], row["median"].to_list())
    return scale.with_unit_and_interval(row["median"][0], row["low"][0], row["high"][0])


def _storm(data: Data, condition: str, parameters: str) -> Figure:
    """How many clients were up, over time: a line for each trial."""
    trials = data.trials.filter(
        pl.col("measurement") == STORM,
        pl.col("condition") == condition,
        pl.col("parameters") == parameters,
        pl.col("status") == "ok",
    ).select("trial", "vpn", "block")
    series = data.series.filter(name="clients_up").join(trials, on="trial")
    steps: Records = []
    rows = []
    for trial, vpn, block, times_ns in series.select("trial", "vpn", "block", "t_ns").iter_rows():
        up_s = [0.0, *(one / 1e9 for one in times_ns)]
        steps += [
            {"vpn": vpn, "trial": trial, "block": block, "s": second, "up": up}
            for up, second in enumerate(up_s)
        ]
        if len(up_s) > 1:
            half = up_s[len(up_s) // 2]
            shown = (str(block), str(len(up_s) - 1), f"{half:.2f}", f"{up_s[-1]:.2f}")
            rows.append((vpn, *shown))
    name = data.labels.cell(condition, STORM, parameters)
    present = [vpn for vpn in data.vpns if vpn in set(series["vpn"].to_list())]
    panel = layered(
        [
            alt.Chart(source(steps))
            .mark_line(interpolate="step-after", strokeWidth=1.6, opacity=0.8)
            .encode(
                x=alt.X("s:Q", title="seconds since the event"),
                y=alt.Y("up:Q", title="clients", axis=alt.Axis(tickMinStep=1)),
                color=vpn_colour(data, legend=present),
                detail="trial:N",
                tooltip=[
                    alt.Tooltip("vpn:N", title="VPN"),
                    alt.Tooltip("s:Q", title="seconds", format=".2f"),
                    alt.Tooltip("up:Q", title="clients"),
                    alt.Tooltip("block:Q", title="block"),
                ],
            )
        ],
        "Clients that have come up",
        HEIGHT_PX,
    )
    rows.sort(key=lambda row: (row[0], int(row[1])))
    return Figure(
        name=slug(f"timeline {condition} {name}"),
        title=f"{name}: timeline",
        caption=(
            "Each line is one trial: a client has come up when the first of its packets arrived at "
            f"the gateway. Parameters: {everything(STORM, parameters)}."
        ),
        alt_text="Step lines of the number of clients that have come up, over time.",
        panels=(panel,),
        table=FigureTable(
            ("VPN", "block", "clients", "half, s since the event", "all, s since the event"),
            "lrrrr",
            tuple(rows),
        ),
    )
