"""The headline figures of a published run and of another, each in relation to its baseline.

Two machines differ in speed; what a VPN costs is compared. A trial's figure is therefore taken
against the baseline of its block, as the report does (a ratio or a difference), and the figures of
both runs are then compared as ``culvert compare`` compares two runs. The baseline itself, and what
has no baseline to compare with, stays as measured.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from culvert.analysis.headline import Question, medians
from culvert.analysis.observations import CONTEXT, METRIC, observations
from culvert.analysis.summary import summarise
from culvert.compare.outcome import CompareOutcome, compare
from culvert.compare.side import Side
from culvert.errors import UsageError
from culvert.metrics import Effect
from culvert.study.vpn_id import BASELINE


def compared_figures(
    before: Side, now: Side, *, tolerance: float, alpha: float
) -> CompareOutcome | None:
    """The published run as A, the other as B; None if they have no headline figure in common."""
    rows = before.rows
    questions = [
        one
        for each in medians(rows, rows["vpn"].unique().to_list(), summarise(rows))
        for one in each.questions
    ]
    sides = [
        Side(one.directory, None, one.run, frame, frame)
        for one in (before, now)
        for frame in [relative(one.rows, questions)]
    ]
    try:
        return compare((sides[0],), (sides[1],), tolerance=tolerance, alpha=alpha, metrics=["*"])
    except UsageError:
        return None


def relative(rows: pl.DataFrame, questions: Iterable[Question]) -> pl.DataFrame:
    """The cells of these questions as a journal's rows: of each trial the figure alone, relative
    to the baseline of its block. A ratio has the unit 1. Without the baseline in its block a trial
    has no figure, if other blocks have one."""
    names, keys = [*CONTEXT, "metric"], [*CONTEXT, *METRIC]
    wanted = pl.DataFrame(
        [
            (one.condition, one.measurement, one.parameters, one.metric, _against(one))
            for one in questions
        ],
        schema=dict.fromkeys((*names, "against"), pl.String),
        orient="row",
    )
    seen = observations(rows).filter(labels="{}").join(wanted, on=names, how="inner")
    base = (
        seen.filter(pl.col("vpn") == BASELINE)
        .group_by(*keys, "block")
        .agg(base=pl.col("value").median())
    )
    with_base = seen.join(base, on=keys, how="semi").filter(
        pl.col("vpn") != BASELINE, pl.col("against").is_not_null()
    )
    value, below = pl.col("value"), pl.col("base")
    ratio = pl.col("against") == Effect.RATIO
    against = (
        with_base.join(base, on=[*keys, "block"], how="inner")
        .filter(~ratio | (below != 0))
        .with_columns(
            value=pl.when(ratio).then(value / below).otherwise(value - below),
            unit=pl.when(ratio).then(pl.lit("1")).otherwise("unit"),
        )
    )
    alone = seen.join(with_base, on=["trial", "metric"], how="anti")
    columns = ["trial", *METRIC, "value"]
    figures = pl.concat([alone.select(columns), against.select(columns)])
    cells = rows.join(wanted.select(CONTEXT).unique(), on=list(CONTEXT), how="semi")
    trials = cells.drop(*METRIC, "value").unique("trial", maintain_order=True)
    return trials.join(figures, on="trial", how="left").select(rows.columns)


def _against(question: Question) -> str | None:
    return None if question.column.absolute else str(question.column.effect)
