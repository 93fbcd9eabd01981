"""Small frames in the journal's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from culvert.analysis.column import Columns
from culvert.analysis.headline import Headline, compared, medians
from culvert.analysis.observations import observations
from culvert.analysis.summary import summarise
from culvert.journal.frames import ROWS_SCHEMA, TRIALS_SCHEMA

_OF_TRIALS = ("trial", "block", "vpn", "condition", "measurement", "parameters", "status", "reason")
TRIALS = {name: TRIALS_SCHEMA[name] for name in (*_OF_TRIALS, "remedy", "evidence")}


def rows(
    values: Mapping[str, Sequence[float | None]],
    *,
    metric: str = "goodput_bps",
    measurement: str = "tcp",
    status: str = "ok",
    labels: str = "{}",
    parameters: str = "{}",
    first_trial: int = 1,
) -> pl.DataFrame:
    """Rows of one metric: VPN -> its value in block 1, 2, ...; None: a trial without metrics."""
    found: list[dict[str, object]] = []
    for vpn, series in values.items():
        for block, value in enumerate(series, start=1):
            found.append(
                {
                    "study": "s",
                    "block": block,
                    "trial": first_trial + len(found),
                    "vpn": vpn,
                    "version": "1",
                    "condition": "clean",
                    "measurement": measurement,
                    "parameters": parameters,
                    "metric": None if value is None else metric,
                    "labels": labels,
                    "unit": None if value is None else "bit/s",
                    "value": value,
                    "status": status,
                    "reason": "",
                }
            )
    return pl.DataFrame(found, schema=ROWS_SCHEMA)


def headlines(rows: pl.DataFrame, vpns: list[str]) -> list[Headline]:
    """As the report makes them."""
    observed = observations(rows)
    return compared(medians(rows, vpns, summarise(rows)), observed, Columns(observed))
