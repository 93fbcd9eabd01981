"""Every VPN against every other: the column's decision, and the test that papers use.

Whether two differ is decided by their column (``analysis.column``). Mann-Whitney's test, which the
papers use, takes the trials as two unpaired series; it is shown with Holm's correction but
decides nothing. A family is one metric in one context: its pairs are corrected together.
"""

from __future__ import annotations

from itertools import combinations, islice

import numpy as np
import polars as pl

from culvert.analysis.column import Columns
from culvert.analysis.observations import CONTEXT, METRIC
from culvert.decide.decision import ALPHA, Pair
from culvert.statistics.effects import cliffs_delta, hodges_lehmann
from culvert.statistics.holm import holm
from culvert.statistics.mann_whitney import least_mann_whitney, mann_whitney
from culvert.statistics.values import Array

FEWEST = 2
"""With a single trial no test is possible."""

SCHEMA: dict[str, type[pl.DataType]] = {
    **dict.fromkeys((*CONTEXT, *METRIC, "a", "b"), pl.String),
    "n_a": pl.Int64,
    "n_b": pl.Int64,
    "u": pl.Float64,
    "p": pl.Float64,
    "p_holm": pl.Float64,
    "p_possible": pl.Boolean,
    "paired": pl.Boolean,
    "blocks": pl.Int64,
    "ratio": pl.Float64,
    "ratio_low": pl.Float64,
    "ratio_high": pl.Float64,
    "p_column": pl.Float64,
    "decidable": pl.Boolean,
    "differ": pl.Boolean,
    "correlated": pl.Boolean,
    "more": pl.Int64,
    "cliffs_delta": pl.Float64,
    "delta_low": pl.Float64,
    "delta_high": pl.Float64,
    "size": pl.String,
    "shift": pl.Float64,
    "shift_low": pl.Float64,
    "shift_high": pl.Float64,
}


def comparisons(observed: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """One row per pair of VPNs, context and metric without labels; ``observed`` from
    ``observations``, ``columns`` are those of the run.

    Columns: CONTEXT, METRIC, a, b (a before b by name), n_a, n_b, u, p (Mann-Whitney's, two-sided),
    p_holm (corrected over the column's pairs), p_possible (whether any trials of that number could
    make it small), paired, blocks, ratio of a to b (geometric means) with its interval, p_column
    (adjusted for the column's pairs and a rule's looks), decidable (whether so many blocks could
    show any difference), differ (p_column at most 0.05), more (repetitions that would decide; null
    where none would), cliffs_delta with its interval and size, shift (Hodges-Lehmann, a - b in the
    metric's unit) with its interval. Pairs where either has fewer than 2 trials are left out, and
    those that their column does not compare.
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
    families: dict[tuple[str, ...], dict[str, Array]] = {}
    for *names, vpn, value in series.iter_rows():
        families.setdefault(tuple(names), {})[vpn] = np.asarray(value)
    pairs_of = {
        key: [pair for pair in combinations(values, 2) if columns.of(key).between(*pair)]
        for key, values in families.items()
    }
    every = mann_whitney(
        [(families[key][a], families[key][b]) for key, pairs in pairs_of.items() for a, b in pairs]
    )
    remaining = iter(every)
    for key, pairs in pairs_of.items():
        values, column = families[key], columns.of(key)
        tests = list(islice(remaining, len(pairs)))
        corrected = holm([test.p_value for test in tests])
        for (a, b), test, p_holm in zip(pairs, tests, corrected, strict=True):
            least = least_mann_whitney(values[a].size, values[b].size) * len(pairs)
            found.append(
                dict(zip(family, key, strict=True))
                | {"a": a, "b": b, "n_a": values[a].size, "n_b": values[b].size, "u": test.u}
                | {"p": test.p_value, "p_holm": p_holm, "p_possible": least <= ALPHA}
                | _decision(column.between(a, b), paired=columns.design.paired)
                | _effects(values[a], values[b])
            )
    return pl.DataFrame(found, schema=SCHEMA)


def _decision(pair: Pair | None, *, paired: bool) -> dict[str, object]:
    if pair is None:
        return {"paired": paired, "decidable": False, "differ": False, "correlated": False}
    ratio, low, high = pair.ratio or (None, None, None)
    return {
        "paired": paired,
        "blocks": pair.n,
        "ratio": ratio,
        "ratio_low": low,
        "ratio_high": high,
        "p_column": pair.p_value,
        "decidable": pair.possible,
        "differ": pair.apart,
        "correlated": pair.correlated,
        "more": pair.more,
    }


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
