"""Every VPN against every other, as the papers do it: Mann-Whitney, with Holm's correction.

Beside the paired ratios (``pairs``) these take the trials as two unpaired series. A family is one
metric in one context: its pairs are corrected together.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl

from culvert.analysis.line import NO_LINE, Line
from culvert.analysis.observations import CONTEXT, METRIC
from culvert.statistics.effects import cliffs_delta, hodges_lehmann
from culvert.statistics.holm import holm
from culvert.statistics.mann_whitney import mann_whitney
from culvert.statistics.values import Array

ALPHA = 0.05
FEWEST = 2
"""A single trial against another says nothing, whatever the test."""

SCHEMA: dict[str, type[pl.DataType]] = {
    **dict.fromkeys((*CONTEXT, *METRIC, "a", "b"), pl.String),
    "n_a": pl.Int64,
    "n_b": pl.Int64,
    "u": pl.Float64,
    "p": pl.Float64,
    "p_holm": pl.Float64,
    "differ": pl.Boolean,
    "cliffs_delta": pl.Float64,
    "delta_low": pl.Float64,
    "delta_high": pl.Float64,
    "size": pl.String,
    "shift": pl.Float64,
    "shift_low": pl.Float64,
    "shift_high": pl.Float64,
}


def comparisons(observed: pl.DataFrame, line: Line = NO_LINE) -> pl.DataFrame:
    """One row per pair of VPNs, context and metric without labels; ``observed`` as ever.

    Columns: CONTEXT, METRIC, a, b (a before b by name), n_a, n_b, u, p (two-sided), p_holm, differ
    (p_holm < 0.05), cliffs_delta with its interval and size, shift (Hodges-Lehmann, a - b in the
    metric's unit) with its interval. Pairs where either has fewer than 2 trials are left out, and
    those across the ``line``.
    """
    family = [*CONTEXT, *METRIC]
    series = (
        observed.filter(pl.col("labels") == "{}")
        .group_by([*family, "vpn"])
        .agg(pl.col("value"))
        .filter(pl.col("value").list.len() >= FEWEST)
        .sort([*family, "vpn"])
    )
    found: list[dict[str, object]] = []
    for key, part in series.group_by(family, maintain_order=True):
        values = {vpn: np.asarray(value) for vpn, value in part.select("vpn", "value").iter_rows()}
        pairs = [pair for pair in combinations(values, 2) if not line.crossed(pair)]
        tests = [mann_whitney(values[a], values[b]) for a, b in pairs]
        corrected = holm([test.p_value for test in tests])
        for (a, b), test, p_holm in zip(pairs, tests, corrected, strict=True):
            found.append(
                dict(zip(family, key, strict=True))
                | {"a": a, "b": b, "n_a": values[a].size, "n_b": values[b].size, "u": test.u}
                | {"p": test.p_value, "p_holm": p_holm, "differ": p_holm < ALPHA}
                | _effects(values[a], values[b])
            )
    return pl.DataFrame(found, schema=SCHEMA)


def _effects(x: Array, y: Array) -> dict[str, object]:
    delta, shift = cliffs_delta(x, y), hodges_lehmann(x, y)
    return {
        "cliffs_delta": delta.value,
        "delta_low": delta.low,
        "delta_high": delta.high,
        "size": str(delta.size),
        "shift": shift.value,
        "shift_low": shift.low,
        "shift_high": shift.high,
    }
