"""Instruments beside each other."""

from __future__ import annotations

import json

import polars as pl
import pytest

from culvert.analysis.instruments import instruments_beside
from culvert.analysis.observations import observations
from culvert.journal.frames import ROWS_SCHEMA


def rows(values: dict[str, list[float]], measurement: str = "tcp") -> pl.DataFrame:
    metric, unit = ("rtt_p50_us", "us") if measurement == "rtt" else ("goodput_bps", "bit/s")
    found: list[dict[str, object]] = []
    for instrument, each in values.items():
        for block, value in enumerate(each, 1):
            row: dict[str, object] = dict.fromkeys(ROWS_SCHEMA)
            row |= {
                "vpn": "a",
                "condition": "clean",
                "measurement": measurement,
                "parameters": json.dumps({"duration": "1s", "instrument": instrument}),
                "status": "ok",
                "block": block,
                "trial": len(found),
                "metric": metric,
                "unit": unit,
                "labels": "{}",
                "value": value,
            }
            found.append(row)
    return observations(pl.DataFrame(found, schema=ROWS_SCHEMA))


def test_the_probe_is_first_and_others_are_beside_it() -> None:
    found = instruments_beside(
        rows({"iperf3": [50, 51, 49, 50, 52, 50], "probe": [100, 101, 99, 100, 98, 100]})
    )
    assert [one.instrument for one in found] == ["probe", "iperf3"]
    assert (found[0].ratio, found[0].interval) == (None, None)
    assert found[1].ratio == pytest.approx(0.5)
    interval = found[1].interval
    assert interval is not None
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low < 0.5 < interval.high < 0.6


def test_one_instrument_is_no_comparison() -> None:
    assert instruments_beside(rows({"probe": [1, 2, 3]})) == []


def test_without_the_probe_there_is_no_ratio() -> None:
    found = instruments_beside(rows({"iperf3": [1, 2], "nuttcp": [2, 3]}))
    assert [(one.instrument, one.ratio) for one in found] == [("iperf3", None), ("nuttcp", None)]


def test_round_trips_by_their_median() -> None:
    found = instruments_beside(rows({"probe": [10, 10, 12], "ping": [5, 6, 5]}, "rtt"))
    assert [(one.instrument, one.metric) for one in found] == [
        ("probe", "rtt_p50_us"),
        ("ping", "rtt_p50_us"),
    ]
    assert found[1].ratio == pytest.approx(0.5)
