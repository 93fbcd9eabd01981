"""A gateway's figures over its number of clients, and the timeline of a storm."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import altair as alt
import numpy as np
import polars as pl

from culvert.journal.frames import ROWS_SCHEMA, SERIES_SCHEMA
from culvert.report.charts.gateway import gateway_figures
from culvert.report.charts.gateway_cores import gateway_core_figures
from culvert.report.model import Figure

from .synthetic import Run, make_run

COUNTS = (1, 8, 32, 128)
GAIN, CONTENTION, COHERENCY = 1e8, 0.05, 0.001
LOADS = tuple(("gateway_load", {"clients": n, "protocol": "udp"}) for n in COUNTS)
STORM = ("session_storm", {"clients": 3})


def capacity(n: int) -> float:
    return GAIN * n / (1 + CONTENTION * (n - 1) + COHERENCY * n * (n - 1))


UPS_NS = (10**8, 2 * 10**8, 7 * 10**8)


def figures(blocks: int, ups_ns: Sequence[int] = UPS_NS) -> list[Figure]:
    run = make_run(blocks=blocks, measurements=(*LOADS, STORM), faults=False)
    made = replace(run, rows=_rows(run), series=_series(run, ups_ns))
    return gateway_figures(made.data, "clean")


def _rows(run: Run) -> pl.DataFrame:
    generator = np.random.default_rng(5)
    rows = []
    for trial in run.trials.filter(measurement="gateway_load", status="ok").iter_rows(named=True):
        n = json.loads(trial["parameters"])["clients"]
        goodput_bps = capacity(n) * float(np.exp(generator.normal(0, 0.02)))
        values = [
            ("goodput_bps", "bit/s", goodput_bps, {}),
            ("active_clients", "clients", n, {}),
            ("rtt_loaded_p99_us", "us", 900.0 + n, {}),
            ("gateway_cpu_percent", "%", 90.0, {}),
            *(
                ("client_goodput_bps", "bit/s", goodput_bps / n * (0.5 + share), {"quantile": text})
                for text, share in (("0", 0.0), ("0.25", 0.25), ("0.5", 0.5), ("0.75", 0.75))
            ),
            ("client_goodput_bps", "bit/s", goodput_bps / n * 1.5, {"quantile": "1"}),
        ]
        common = {key: trial[key] for key in ROWS_SCHEMA if key in trial}
        rows += [
            {**common, "metric": metric, "unit": unit, "value": value, "labels": json.dumps(labels)}
            for metric, unit, value, labels in values
        ]
    return pl.DataFrame(rows, schema=ROWS_SCHEMA)


def _series(run: Run, ups_ns: Sequence[int]) -> pl.DataFrame:
    storms = run.trials.filter(measurement="session_storm", status="ok")["trial"].to_list()
    counts = [float(up) for up, _ in enumerate(ups_ns, 1)]
    rows = [(trial, "clients_up", "clients", "{}", list(ups_ns), counts) for trial in storms]
    return pl.DataFrame(rows, schema=SERIES_SCHEMA, orient="row")


def test_goodput_delay_cpu_and_shares_are_drawn_over_the_clients_with_the_law() -> None:
    load, _ = figures(blocks=6)
    titles = [panel["title"] for panel in load.panels]
    assert titles[0] == "Goodput of all clients together"
    assert titles[-1] == "Shares of the clients"
    assert len(titles) == 4
    curve = load.panels[0]["layer"][0]["data"]["values"]
    assert max(point["n"] for point in curve) == 2 * COUNTS[-1]
    assert all(point["low"] <= point["value"] <= point["high"] for point in curve)
    assert "goodput is highest with 31 clients" in load.caption  # sqrt((1 - 0.05) / 0.001)
    assert load.table is not None
    (clients,) = {len([row for row in load.table.rows if row[0] == "none"])}
    assert clients == len(COUNTS)
    shares = load.panels[-1]["layer"][0]["data"]["values"]
    assert {one["n"] for one in shares} == set(COUNTS) - {1}
    assert all(round(one["least"], 1) == 0.5 for one in shares)


def test_two_trials_each_are_drawn_without_a_law() -> None:
    load, _ = figures(blocks=2)
    assert "from four numbers of clients" in load.caption
    assert len(load.panels[0]["layer"]) == 3


def test_a_storm_is_a_step_for_each_client() -> None:
    _, storm = figures(blocks=2)
    steps = storm.panels[0]["layer"][0]["data"]["values"]
    first = [(one["s"], one["up"]) for one in steps if one["trial"] == steps[0]["trial"]]
    assert first == [(0.0, 0), (0.1, 1), (0.2, 2), (0.7, 3)]
    assert storm.table is not None
    assert storm.table.rows[0][2:] == ("3", "0.20", "0.70")


def test_half_of_an_even_number_is_half_and_blocks_are_in_order() -> None:
    _, storm = figures(11, (*UPS_NS[:2], 3 * 10**8, UPS_NS[2]))
    rows = [row for row in storm.table.rows if row[0] == "none"]
    assert {row[2:] for row in rows} == {("4", "0.20", "0.70")}
    blocks = [int(row[1]) for row in rows]
    assert blocks == sorted(blocks)
    assert blocks[-1] > 9


def test_the_specifications_are_valid() -> None:
    for figure in figures(blocks=6):
        for panel in figure.panels:
            assert alt.Chart.from_dict({**panel, "width": 300}).to_dict()["width"] == 300


CORE_COUNTS = {"one": 1, "two": 2, "four": 4, "eight": 8}


def core_figures(blocks: int, counts: dict[str, int]) -> list[list[Figure]]:
    """Of each condition; the last of them differs in more than its cores."""
    names = (*counts, "slow")
    conditions: list[dict[str, object]] = [
        {"name": name, "cores": cores} for name, cores in counts.items()
    ]
    conditions.append({"name": "slow", "cores": 16, "delay": 0.05})
    run = make_run(
        blocks=blocks,
        conditions=names,
        measurements=(("gateway_load", {"clients": 32}),),
        faults=False,
        run={"canonical": json.dumps({"condition": conditions})},
    )
    generator = np.random.default_rng(3)
    rows = [
        {
            **{key: trial[key] for key in ROWS_SCHEMA if key in trial},
            "metric": "goodput_bps",
            "unit": "bit/s",
            "value": capacity(counts.get(trial["condition"], 16)) * generator.normal(1, 0.01),
            "labels": "{}",
        }
        for trial in run.trials.iter_rows(named=True)
        if trial["status"] == "ok"
    ]
    data = replace(run, rows=pl.DataFrame(rows, schema=ROWS_SCHEMA)).data
    return [gateway_core_figures(data, name) for name in names]


def test_goodput_is_drawn_over_the_gateways_cores_with_the_law_once() -> None:
    (figure,), *others = core_figures(6, CORE_COUNTS)
    assert not any(others)
    marks = figure.panels[0]["layer"][-1]["data"]["values"]
    assert {mark["n"] for mark in marks} == set(CORE_COUNTS.values())
    curve = figure.panels[0]["layer"][0]["data"]["values"]
    assert max(point["n"] for point in curve) == 2 * 8
    assert "contention 0.05" in figure.caption
    assert figure.table.rows[0][:2] == ("none", "1")


def test_two_numbers_of_cores_are_drawn_without_a_law_and_one_is_not() -> None:
    (figure,), *_ = core_figures(3, {"one": 1, "two": 2})
    assert "from four numbers of cores" in figure.caption
    assert len(figure.panels[0]["layer"]) == 3
    assert not any(core_figures(1, {"one": 1}))


def test_loads_are_named_by_what_distinguishes_them() -> None:
    both = [(kind, {**given, "protocol": name}) for kind, given in LOADS for name in ("udp", "tcp")]
    run = make_run(blocks=2, measurements=tuple(both), faults=False)
    found = gateway_figures(replace(run, rows=_rows(run)).data, "clean")
    names = [figure.title.partition(":")[0] for figure in found]
    assert names == [
        "Many clients of one gateway, over TCP",
        "Many clients of one gateway, over UDP",
    ]
