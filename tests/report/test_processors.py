"""What the page says of slowed-down nodes, of instruments and of context switches."""

from __future__ import annotations

import json

import polars as pl

from culvert.report.charts.goodput import goodput_figures
from culvert.report.views.comparisons import instruments_table
from culvert.report.views.switches import switches_table
from culvert.report.views.trust import limits
from culvert.report.views.underlay import underlay_views

from .conftest import page_of
from .recorded import RUN
from .synthetic import Run, make_run
from .truths import TCP


def small() -> Run:
    return make_run(blocks=2, measurements=(("tcp", TCP),), faults=False, run=dict(RUN))


def slowed(run: Run) -> Run:
    def told(text: str) -> str:
        evidence = json.loads(text)
        evidence["underlay"]["b"] |= {
            "cpu_quota": "emulated: 2000 us in each 10000 us",
            "variables": {"OPENSSL_ia32cap": "~0x1"},
            "steering": {"u0": {"rx-0/rps_cpus": "3"}},
        }
        return json.dumps(evidence)

    run.trials = run.trials.with_columns(
        pl.col("evidence").map_elements(told, return_dtype=pl.String)
    )
    return run


def test_a_slow_router_is_labelled_emulated() -> None:
    assert not any("emulated" in limit for limit in limits(small().data))
    data = slowed(small()).data
    assert any("a slow router emulated by a CPU quota" in limit for limit in limits(data))
    rows = {row[0]: row[2] for row in underlay_views(data)[0].table.rows}
    assert rows["CPU quota"] == "emulated: 2000 us in each 10000 us"
    assert rows["set for all programs"] == "OPENSSL_ia32cap = ~0x1"
    assert rows["packet steering"] == "u0: rx-0/rps_cpus = 3"


def test_instruments_are_beside_each_other() -> None:
    run = small()
    assert instruments_table(run.data).rows == ()
    other = json.dumps({**TCP, "instrument": "iperf3"})
    twice = run.rows.with_columns(parameters=pl.lit(other), value=pl.col("value") / 2)
    run.rows = pl.concat([run.rows, twice])
    rows = instruments_table(run.data).rows
    assert {row[3] for row in rows} == {"probe", "iperf3"}
    assert {row[5] for row in rows if row[3] == "iperf3"} == {"0.50 x"}
    assert "Instruments compared" in page_of(run)


def test_who_switched_most() -> None:
    run = small()
    assert switches_table(run.data).rows == ()
    goodput = run.rows.filter(pl.col("metric") == "goodput_bps", pl.col("labels") == "{}")
    parts = [run.rows, goodput.with_columns(metric=pl.lit("context_switches_total"))]
    for name, count in (("openvpn", 3000.0), ("kworker", 40.0)):
        labels = json.dumps({"node": "machine", "process": name})
        parts.append(
            goodput.with_columns(
                metric=pl.lit("context_switches_most"),
                labels=pl.lit(labels),
                value=pl.lit(count),
                unit=pl.lit("switches"),
            )
        )
    run.rows = pl.concat(parts)
    rows = switches_table(run.data).rows
    assert rows
    assert {row[3] for row in rows} == {"openvpn 3\u202f000, kworker 40"}


def test_equal_bars_of_busy_cpus_are_not_drawn() -> None:
    def titles(run: Run) -> list[str]:
        return [
            json.dumps(panel) for one in goodput_figures(run.data, "clean") for panel in one.panels
        ]

    assert any("CPU utilisation" in title for title in titles(small()))
    run = small()
    busy = pl.when(pl.col("metric") == "cpu_percent").then(199.0).otherwise(pl.col("value"))
    run.rows = run.rows.with_columns(value=busy)
    assert not any("CPU utilisation" in title for title in titles(run))
    assert "this is CPU time per gigabyte" in goodput_figures(run.data, "clean")[0].caption
