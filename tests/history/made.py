"""Summaries of runs that nobody measured, in the form of the store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import polars as pl

from culvert.history.store import CELLS, RUNS
from culvert.statistics.values import Array

CELL = ("clean", "tcp", "{}")
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def made(
    values: Mapping[str, Array],
    facts: Sequence[Mapping[str, str]] = (),
    versions: Sequence[str] = (),
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Runs and cells: the goodput of each VPN in run 0, 1, ..., a day apart."""
    count = max(len(series) for series in values.values())
    runs = [
        (
            number,
            f"run-{number:05}",
            "made",
            "one",
            (_BEGIN + timedelta(days=number)).isoformat(),
            f"run {number}",
            json.dumps(dict(facts[number]) if facts else {}),
        )
        for number in range(count)
    ]
    cells = [
        (
            *(number, place, vpn, *CELL, "goodput_bps", "bit/s"),
            *(versions[number] if versions else "1", 6, float(value), None, None),
        )
        for place, (vpn, series) in enumerate(values.items())
        for number, value in enumerate(series)
    ]
    return (
        pl.DataFrame(runs, schema=RUNS, orient="row"),
        pl.DataFrame(cells, schema=CELLS, orient="row"),
    )
