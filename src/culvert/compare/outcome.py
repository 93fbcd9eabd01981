"""What a comparison found: the same content for every form of output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import polars as pl

from culvert.analysis.compare.absent import Absent, absent
from culvert.analysis.compare.comparison import Comparison, comparisons
from culvert.analysis.compare.verdict import Change
from culvert.analysis.declared import compared_metrics
from culvert.analysis.observations import observations
from culvert.compare.machines import across, warnings
from culvert.compare.side import Side
from culvert.errors import UsageError
from culvert.study.table import near

ORDER = (Change.SLOWER, Change.CHANGED, Change.FASTER, Change.UNCLEAR, Change.SAME)
"""The order in which people are told."""
NO_VERDICT = "speeds of the two sides do not compare"


@dataclass(frozen=True)
class Outcome:
    """``found`` are sorted as they are told; ``metrics`` empty means all."""

    a: Side
    b: Side
    tolerance: float
    alpha: float
    paired: bool
    found: tuple[Comparison, ...]
    absent: tuple[Absent, ...]
    warnings: tuple[str, ...]

    @property
    def counts(self) -> dict[Change, int]:
        """How many of each, those of the baseline left out."""
        told = [one.change for one in self.found if not one.control]
        return {change: told.count(change) for change in ORDER}

    @property
    def regressed(self) -> bool:
        """Whether a VPN became slower in anything."""
        return self.counts[Change.SLOWER] > 0


def compare(
    a: Side,
    b: Side,
    *,
    tolerance: float,
    alpha: float,
    only: str | None = None,
    metrics: Sequence[str] = (),
) -> Outcome:
    """Compare two sides. ``metrics``: names or patterns; none for those that matter most.

    Raises UsageError where there is nothing to compare.
    """
    wanted = list(metrics) or list(compared_metrics())
    rows = [_only(side.rows, only) for side in (a, b)]
    paired = a.directory.resolve() == b.directory.resolve()
    if a.vpn and b.vpn and a.vpn != b.vpn:
        # Two names for one contestant: what differs is told by the sides.
        both = f"{a.vpn} \u2192 {b.vpn}"
        rows = [frame.with_columns(vpn=pl.lit(both)) for frame in rows]
    seen = [_metrics(observations(frame), wanted) for frame in rows]
    found = comparisons(seen[0], seen[1], paired=paired, tolerance=tolerance, alpha=alpha)
    lacking = absent(rows[0], rows[1])
    if not found:
        raise UsageError(f"{a.name} and {b.name}", *_nothing(rows, only, metrics, bool(lacking)))
    if across(a, b):
        found = [_without_verdict(one) for one in found]
    rank = {change: index for index, change in enumerate(ORDER)}
    found.sort(key=lambda one: (one.control, rank[one.change]))
    return Outcome(
        a, b, tolerance, alpha, paired, tuple(found), tuple(lacking), tuple(warnings(a, b, found))
    )


def _without_verdict(one: Comparison) -> Comparison:
    nothing = dict.fromkeys(("ratio", "low", "high", "p_value", "p_adjusted", "more"))
    return replace(one, change=Change.UNCLEAR, why=NO_VERDICT, **nothing)  # type: ignore[arg-type]


def _only(rows: pl.DataFrame, pattern: str | None) -> pl.DataFrame:
    if pattern is None:
        return rows
    words = ("vpn", "condition", "measurement")
    kept = rows.select(words).unique()
    matching = [row for row in kept.iter_rows() if any(fnmatchcase(w, pattern) for w in row)]
    chosen = pl.DataFrame(matching, schema=dict.fromkeys(words, pl.String), orient="row")
    return rows.join(chosen, on=list(words), how="semi", maintain_order="left")


def _metrics(observed: pl.DataFrame, wanted: Sequence[str]) -> pl.DataFrame:
    names = [
        name
        for name in observed["metric"].unique().to_list()
        if any(fnmatchcase(name, pattern) for pattern in wanted)
    ]
    found = observed.filter(pl.col("metric").is_in(names))
    # Figures with labels (per node, per process) are compared when they are asked for.
    return found if tuple(wanted) != compared_metrics() else found.filter(pl.col("labels") == "{}")


def _nothing(
    rows: Sequence[pl.DataFrame], only: str | None, metrics: Sequence[str], lacking: bool
) -> tuple[str, str]:
    if only is not None and any(frame.is_empty() for frame in rows):
        return f"--only '{only}' matches no VPN, condition or measurement", "see culvert report"
    known = sorted({name for frame in rows for name in frame["metric"].drop_nulls().to_list()})
    if metrics and not any(fnmatchcase(name, one) for name in known for one in metrics):
        return f"no metric is named {', '.join(metrics)}", near(metrics[0], known)
    if lacking:
        return "they have no cell in common", "compare runs of one study with the same parameters"
    return "no trial of theirs counts", "see culvert report for the reasons"
