"""Latency percentiles from HDR histograms, pooled over the trials of a cell.

Histograms are added, never averaged: the 99.9th percentile of all probes is not the mean of the
trials' 99.9th percentiles. Format: HdrHistogram V2, base64, compressed or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from culvert.analysis.observations import CELL
from culvert.journal.histogram import counts_of

PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99)

ENOUGH_BEYOND = 10
"""A percentile is given only if at least this many probes lie at or beyond it: the 99.99th takes
100,000 probes. With fewer, a handful of packets decides it."""


@dataclass(frozen=True)
class LatencyDistribution:
    """The count of each value; ``values`` ascending, in the histogram's unit."""

    values: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def percentile(self, percent: float) -> float:
        """The value that at least ``percent`` of all are at or below; the total must not be 0."""
        cumulative = np.cumsum(self.counts)
        # Guarded against 99.9 / 100 * 1000 = 999.0000000001 becoming the thousandth.
        target = max(1, int(np.ceil(percent / 100 * self.total - 1e-6)))
        return float(self.values[int(np.searchsorted(cumulative, target))])

    def supports(self, percent: float) -> bool:
        return self.total * (100 - percent) / 100 >= ENOUGH_BEYOND - 1e-6

    def __add__(self, other: LatencyDistribution) -> LatencyDistribution:
        values, inverse = np.unique(
            np.concatenate((self.values, other.values)), return_inverse=True
        )
        counts = np.zeros(values.size, dtype=np.int64)
        np.add.at(counts, inverse, np.concatenate((self.counts, other.counts)))
        return LatencyDistribution(values, counts)


EMPTY = LatencyDistribution(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def decode(hdr_v2: str) -> LatencyDistribution:
    """Read one histogram of a journal, which decodes each when it is opened."""
    return LatencyDistribution(*counts_of(hdr_v2))


def pool(
    trials: pl.DataFrame, histograms: pl.DataFrame, name: str
) -> dict[str, LatencyDistribution]:
    """The distributions called ``name`` of ok trials, added up per VPN.

    ``trials`` has been narrowed to one condition, measurement and parameters.
    """
    pooled: dict[str, LatencyDistribution] = {}
    counted = trials.filter(pl.col("status") == "ok").select("trial", "vpn")
    chosen = histograms.filter(pl.col("name") == name).join(counted, on="trial", how="inner")
    for vpn, hdr_v2 in chosen.sort("trial").select("vpn", "hdr_v2").iter_rows():
        pooled[vpn] = pooled.get(vpn, EMPTY) + decode(hdr_v2)
    return {vpn: found for vpn, found in pooled.items() if found.total}


def percentile_table(trials: pl.DataFrame, histograms: pl.DataFrame, name: str) -> pl.DataFrame:
    """One row per cell and percentile, pooled over ok trials, in the histogram's unit.

    Columns: CELL, probes, percent, value (null with too few probes), note.
    """
    rows: list[dict[str, object]] = []
    cells = trials.select(CELL).unique().sort(CELL)
    for cell in cells.iter_rows(named=True):
        same = pl.all_horizontal(pl.col(key) == value for key, value in cell.items())
        for found in pool(trials.filter(same), histograms, name).values():
            for percent in PERCENTILES:
                enough = found.supports(percent)
                rows.append(
                    {
                        **cell,
                        "probes": found.total,
                        "percent": percent,
                        "value": found.percentile(percent) if enough else None,
                        "note": "" if enough else f"too few probes ({found.total})",
                    }
                )
    schema = dict.fromkeys(CELL, pl.String) | {
        "probes": pl.Int64,
        "percent": pl.Float64,
        "value": pl.Float64,
        "note": pl.String,
    }
    return pl.DataFrame(rows, schema=schema)
