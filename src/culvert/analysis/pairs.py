"""Comparing VPNs inside blocks: what a block's weather does to both, it does not do to the pair.

The trials of a block are neighbours in time; the effect is taken block by block (a ratio or a
difference), and its median and interval over the blocks (the blocks are what is resampled).
"""

from __future__ import annotations

import polars as pl

from culvert.analysis.observations import BASELINE, CONTEXT, METRIC
from culvert.analysis.summary import with_intervals
from culvert.metrics import Effect

_SAME = {Effect.RATIO: 1.0, Effect.DIFFERENCE: 0.0}


def paired(
    observed: pl.DataFrame,
    effect: Effect,
    *,
    reference: str = BASELINE,
    seed: int = 0,
) -> pl.DataFrame:
    """The effect of every VPN against ``reference`` in the same block.

    ``observed`` as ``observations`` gives it. Columns: vpn, reference, CONTEXT, METRIC, n (blocks
    with both), median, low, high, note, distinguishable (the interval excludes "no effect").
    Blocks where either is missing are left out, and for a ratio those where the reference is 0.
    """
    keys = [*CONTEXT, *METRIC, "block"]
    # A block holds a cell once; were it there twice, the middle stands for both.
    one = observed.group_by(["vpn", *keys]).agg(pl.col("value").median())
    base = one.filter(pl.col("vpn") == reference).select(*keys, base=pl.col("value"))
    both = one.filter(pl.col("vpn") != reference).join(base, on=keys, how="inner")
    if effect is Effect.RATIO:
        both = both.filter(pl.col("base") != 0)
        value = pl.col("value") / pl.col("base")
    else:
        value = pl.col("value") - pl.col("base")
    groups = ["vpn", *CONTEXT, *METRIC]
    grouped = (
        both.with_columns(effect=value)
        .group_by(groups)
        .agg(
            n=pl.len().cast(pl.Int64),
            median=pl.col("effect").median(),
            values=pl.col("effect"),
        )
        .sort(groups)
    )
    same = _SAME[effect]
    return (
        with_intervals(grouped, seed=seed)
        .with_columns(
            reference=pl.lit(reference),
            distinguishable=((pl.col("low") > same) | (pl.col("high") < same)).fill_null(
                value=False
            ),
        )
        .select(
            "vpn",
            "reference",
            *CONTEXT,
            *METRIC,
            "n",
            "median",
            "low",
            "high",
            "note",
            "distinguishable",
        )
    )
