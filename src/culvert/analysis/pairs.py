"""Every VPN against the baseline: inside blocks, where drift common to a block cancels.

The effect is taken block by block (a ratio or a difference); the figure is its median, with an
interval over the blocks. Trials that were not measured in blocks (imports) are compared as two
series. Whether an effect is distinguishable from none is decided by its column
(``analysis.column``), all pairs at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from culvert.analysis.column import Columns
from culvert.analysis.observations import CONTEXT, METRIC
from culvert.analysis.summary import interval_columns, with_intervals
from culvert.metrics import Effect
from culvert.statistics.intervals import Interval
from culvert.statistics.ratio import difference_of_medians, ratio_of_medians
from culvert.study.vpn_id import BASELINE

_COLUMNS = (
    *("vpn", "reference", *CONTEXT, *METRIC),
    *("n", "median", "low", "high", "note", "distinguishable"),
)


def paired(
    observed: pl.DataFrame,
    effect: Effect,
    columns: Columns,
    *,
    seed: int = 0,
) -> pl.DataFrame:
    """The effect of every VPN against the baseline.

    ``observed`` as ``observations`` returns it; ``columns`` are those of the whole run. Columns:
    vpn, reference, CONTEXT, METRIC, n (blocks with both, or trials of the shorter series), median,
    low, high, note, distinguishable.
    Blocks where either is missing are left out, and for a ratio those where the baseline is 0.
    """
    found = (
        _blocked(observed, effect, columns)
        if columns.design.paired
        else _apart(observed, effect, seed)
    )
    keys = found.select(*CONTEXT, *METRIC, "vpn").iter_rows()
    decided = [columns.of(key).apart(vpn, BASELINE) for *key, vpn in keys]
    return found.with_columns(
        pl.Series("distinguishable", decided, pl.Boolean), reference=pl.lit(BASELINE)
    ).select(_COLUMNS)


def _blocked(observed: pl.DataFrame, effect: Effect, columns: Columns) -> pl.DataFrame:
    keys = [*CONTEXT, *METRIC, "block"]
    # A block has each cell once; if it is there twice, the median is used.
    one = observed.group_by(["vpn", *keys]).agg(pl.col("value").median())
    base = one.filter(pl.col("vpn") == BASELINE).select(*keys, base=pl.col("value"))
    both = one.filter(pl.col("vpn") != BASELINE).join(base, on=keys, how="inner")
    if effect is Effect.RATIO:
        both = both.filter(pl.col("base") != 0)
        value = pl.col("value") / pl.col("base")
    else:
        value = pl.col("value") - pl.col("base")
    groups = ["vpn", *CONTEXT, *METRIC]
    grouped = (
        both.with_columns(effect=value)
        .sort(*groups, "block")
        .group_by(groups, maintain_order=True)
        .agg(
            n=pl.len().cast(pl.Int64),
            median=pl.col("effect").median(),
            values=pl.col("effect"),
        )
    )
    return with_intervals(grouped, columns.design.looks, serial=columns.design.cautious)


def _apart(observed: pl.DataFrame, effect: Effect, seed: int) -> pl.DataFrame:
    groups = ["vpn", *CONTEXT, *METRIC]
    series = observed.group_by(groups, maintain_order=True).agg(pl.col("value")).sort(groups)
    base: Mapping[Sequence[str], list[float]] = {
        tuple(key): values
        for *key, values in series.filter(pl.col("vpn") == BASELINE)
        .select(*CONTEXT, *METRIC, "value")
        .iter_rows()
    }
    rows: list[tuple[object, ...]] = []
    intervals: list[Interval] = []
    for vpn, *key, values in series.iter_rows():
        own = base.get(tuple(key))
        if vpn == BASELINE or own is None:
            continue
        middle, below = float(np.median(values)), float(np.median(own))
        if effect is Effect.RATIO:
            if below == 0:
                continue
            median = middle / below
            interval = ratio_of_medians(values, own, seed=seed)
        else:
            median = middle - below
            interval = difference_of_medians(values, own, seed=seed)
        rows.append((vpn, *key, min(len(values), len(own)), median))
        intervals.append(interval)
    schema = dict.fromkeys(groups, pl.String) | {"n": pl.Int64, "median": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.with_columns(*interval_columns(intervals))
