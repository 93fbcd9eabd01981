"""Every VPN against the baseline: the estimate, interval and test of its column.

Figures are compared inside blocks, where what a block does to all cancels; imports as two series.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from culvert.analysis.column import Columns
from culvert.analysis.observations import CONTEXT, METRIC
from culvert.decide.decision import Pair
from culvert.metrics import Effect
from culvert.statistics.values import Array, ratio_of
from culvert.study.vpn_id import BASELINE

_SCHEMA: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("vpn", "reference", *CONTEXT, *METRIC), pl.String),
    "n": pl.Int64,
    **dict.fromkeys(("estimate", "low", "high"), pl.Float64),
    "distinguishable": pl.Boolean,
}


def paired(observed: pl.DataFrame, effect: Effect, columns: Columns) -> pl.DataFrame:
    """The effect of every VPN against the baseline.

    ``observed`` as ``observations`` returns it; ``columns`` are those of the whole run. Columns:
    vpn, reference, CONTEXT, METRIC, n (blocks with both, or trials of the shorter series), estimate
    (the ratio of geometric means or their difference; of values that may be 0 of means), low,
    high, distinguishable. An interval that excludes no effect is one of a VPN that is
    distinguishable. No row where the baseline is missing, and no ratio to zero.
    """
    found = []
    keys = [*CONTEXT, *METRIC]
    base = {
        tuple(key): np.asarray(values)
        for *key, values in observed.filter(vpn=BASELINE).group_by(keys).agg("value").iter_rows()
    }
    for vpn, *key in observed.select("vpn", *keys).unique().sort("vpn", *keys).iter_rows():
        pair = columns.of(key).between(vpn, BASELINE)
        if pair is None or tuple(key) not in base:
            continue
        shown = _effect(pair, effect, base[tuple(key)])
        if shown is not None:
            found.append((vpn, BASELINE, *key, pair.n, *shown, pair.apart))
    return pl.DataFrame(found, schema=_SCHEMA, orient="row")


def _effect(
    pair: Pair, effect: Effect, base: Array
) -> tuple[float, float | None, float | None] | None:
    """The estimate with its interval, as a ratio or in the metric's unit."""
    if pair.estimate is None:
        return None
    level = math.exp(np.log(base).mean()) if pair.logarithmic else float(base.mean())
    if effect is Effect.RATIO and not level:
        return None

    def of(difference: float) -> float:
        if effect is Effect.RATIO:
            return ratio_of(difference) if pair.logarithmic else 1 + difference / level
        return level * (ratio_of(difference) - 1) if pair.logarithmic else difference

    low, high = pair.ends or (None, None)
    return (
        of(pair.estimate),
        None if low is None else of(low),
        None if high is None else of(high),
    )
