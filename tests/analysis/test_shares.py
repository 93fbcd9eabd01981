"""Losses by place, CPU by part, initiations."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.analysis.cpu import (
    PARTS,
    PROBE,
    SOFTIRQ,
    TOLERANCE,
    VPN,
    busiest_threads,
    cpu_split,
    most_switches,
)
from culvert.analysis.initiation import cycles, initiation_table
from culvert.analysis.losses import PLACES, RECEIVED, UNPLACED, loss_shares
from culvert.analysis.observations import observations
from culvert.analysis.status import counts_by_vpn, reasons, status_counts

from .frames import TRIALS, rows

share = st.floats(0, 1)
count = st.floats(0, 1e7)


def udp(loss: float, places: dict[str, float]) -> pl.DataFrame:
    parts = [rows({"x": [loss]}, metric="loss_ratio", measurement="udp")]
    parts += [rows({"x": [n]}, metric=place, measurement="udp") for place, n in places.items()]
    return observations(pl.concat(parts))


@settings(max_examples=50, deadline=None)
@given(share, st.lists(count, min_size=len(PLACES), max_size=len(PLACES)))
def test_shares_of_packets_add_up_to_one(loss: float, counts: list[float]) -> None:
    found = loss_shares(udp(loss, dict(zip(PLACES, counts, strict=True))))
    shares = dict(found.select("place", "share").iter_rows())
    assert sum(shares.values()) == pytest.approx(1)
    assert shares[RECEIVED] == pytest.approx(1 - loss)
    assert all(0 <= value <= 1 + 1e-9 for value in shares.values())


def test_loss_is_divided_in_proportion_to_what_was_counted() -> None:
    found = loss_shares(udp(0.4, {"lost_in_socket": 30, "lost_in_tunnel": 10}))
    shares = dict(found.select("place", "share").iter_rows())
    assert shares["lost_in_socket"] == pytest.approx(0.3)
    assert shares["lost_in_tunnel"] == pytest.approx(0.1)


def test_a_loss_that_nothing_counted_is_not_attributed() -> None:
    shares = dict(loss_shares(udp(0.4, {})).select("place", "share").iter_rows())
    assert shares[UNPLACED] == pytest.approx(0.4)


def test_no_udp_no_shares() -> None:
    assert loss_shares(observations(rows({"x": [1]}))).height == 0


@settings(max_examples=50, deadline=None)
@given(
    st.floats(0.01, 100), st.floats(0, 100), st.floats(0, 100), st.floats(0, 800), st.floats(0, 800)
)
def test_parts_of_the_cpu_add_up_to_the_machine(
    whole: float, vpn: float, probe: float, percent: float, softirq: float
) -> None:
    figures = {
        "cpu_s_per_gb": whole,
        "cpu_vpn_s_per_gb": vpn,
        "cpu_probe_s_per_gb": probe,
        "cpu_percent": percent,
        "cpu_softirq_percent": softirq,
    }
    frame = pl.concat([rows({"x": [value]}, metric=name) for name, value in figures.items()])
    found = dict(cpu_split(observations(frame)).select("part", "s_per_gb").iter_rows())
    if vpn + probe > whole * (1 + TOLERANCE):
        assert found == {}  # parts above the whole are no split
        return
    assert set(found) == set(PARTS)
    assert sum(found.values()) == pytest.approx(whole)
    assert min(found.values()) >= -1e-9
    assert found[VPN] == pytest.approx(min(vpn, whole))
    assert found[PROBE] <= probe + 1e-9


def test_softirq_is_its_share_of_the_busy_time() -> None:
    figures = {
        "cpu_s_per_gb": 10.0,
        "cpu_vpn_s_per_gb": 4.0,
        "cpu_probe_s_per_gb": 1.0,
        "cpu_percent": 200.0,
        "cpu_softirq_percent": 60.0,
    }
    frame = pl.concat([rows({"x": [value]}, metric=name) for name, value in figures.items()])
    found = dict(cpu_split(observations(frame)).select("part", "s_per_gb").iter_rows())
    assert found[SOFTIRQ] == pytest.approx(3)


def test_threads_of_one_name_count_together_whatever_their_ids() -> None:
    def thread(value: float, name: str, trial: int) -> pl.DataFrame:
        labels = json.dumps({"node": "a", "process": "vpn", "thread": name})
        return rows({"x": [value]}, metric="cpu_thread_s", labels=labels, first_trial=trial)

    frame = pl.concat(
        [thread(1, "w:10", 1), thread(2, "w:11", 1), thread(5, "w:99", 2), thread(0.1, "m:7", 2)]
    )
    found = busiest_threads(frame, most=1).row(0, named=True)
    assert (found["thread"], found["cpu_s"], found["n"]) == ("w", 4.0, 2)


def test_who_switches_most_by_the_median_of_its_trials() -> None:
    def switches(value: float, name: str, trial: int) -> pl.DataFrame:
        labels = json.dumps({"node": "machine", "process": name})
        return rows(
            {"x": [value]}, metric="context_switches_most", labels=labels, first_trial=trial
        )

    frame = pl.concat(
        [
            switches(10, "vpn", 1),
            switches(30, "vpn", 2),
            switches(15, "kworker", 1),
            switches(1, "m", 2),
        ]
    )
    found = most_switches(frame, most=2).select("process", "switches", "n").rows()
    assert found == [("vpn", 20.0, 2), ("kworker", 15.0, 1)]


def start_trials(statuses: list[str]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "trial": number,
                "block": number,
                "vpn": "x",
                "condition": "clean",
                "measurement": "initiation",
                "parameters": "{}",
                "status": status,
                "reason": "" if status == "ok" else f"because {status}",
                "remedy": "",
                "evidence": "{}",
            }
            for number, status in enumerate(statuses, start=1)
        ],
        schema=TRIALS,
    )


def test_every_cycle_of_the_series_counts_and_a_trial_without_one_gives_its_median() -> None:
    told = rows({"x": [10.0, 20.0, 99.0]}, metric="total_ms", measurement="initiation")
    told = told.with_columns(
        status=pl.when(pl.col("trial") == 3).then(pl.lit("invalid")).otherwise("status")
    )
    series = pl.DataFrame(
        {"trial": [1, 3], "name": ["total_ms"] * 2, "value": [[9.0, 10.0, 14.0], [99.0]]}
    )
    single = cycles(told, start_trials(["ok", "ok", "invalid"]), series)
    assert single["value"].sort().to_list() == [9, 10, 14, 20]
    row = initiation_table(single).row(0, named=True)
    assert (row["cycles"], row["trials"], row["p50"]) == (4, 2, 12)
    assert row["p99"] is None


def test_a_thousand_cycles_have_a_99th_percentile() -> None:
    series = pl.DataFrame(
        {"trial": [1], "name": ["total_ms"], "value": [[float(n) for n in range(1000)]]}
    )
    told = rows({"x": [1.0]}, metric="total_ms", measurement="initiation")
    row = initiation_table(cycles(told, start_trials(["ok"]), series)).row(0, named=True)
    assert row["p99"] == pytest.approx(989.01)


def test_statuses_are_counted_with_their_reasons() -> None:
    trials = start_trials(["ok", "failed", "failed", "invalid", "unsupported"])
    counts = status_counts(trials)
    assert (counts.ok, counts.invalid, counts.failed, counts.unsupported) == (1, 1, 2, 1)
    assert counts.total == 5
    assert counts_by_vpn(trials) == {"x": counts}
    assert reasons(trials).row(0, named=True)["reason"] == "because failed"
    assert status_counts(trials.clear()).total == 0


def test_reasons_that_differ_in_numbers_alone_count_as_one() -> None:
    told = ["port 4711 saw 3 packets", "port 815 saw 12.5 packets", "no lab", ""]
    trials = pl.DataFrame(
        {
            "vpn": ["v"] * 4,
            "status": ["invalid"] * 4,
            "reason": told,
            "remedy": ["look"] * 4,
            "evidence": ["{}"] * 4,
        }
    )
    found = reasons(trials)
    assert found["trials"].to_list() == [2, 1, 1]
    assert found.row(0, named=True)["reason"] == "port 4711 saw 3 packets"
    assert found.row(0, named=True)["wordings"] == 2
