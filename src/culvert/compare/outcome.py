"""The result of a comparison: the same content for every output format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import polars as pl

from culvert.analysis.column import Columns
from culvert.analysis.compare.comparison import (
    Absent,
    Comparison,
    absent,
    comparisons_in_run,
    comparisons_of_runs,
)
from culvert.analysis.compare.verdict import Change
from culvert.analysis.declared import compared_metrics
from culvert.analysis.observations import observations
from culvert.compare.machines import across, warnings
from culvert.compare.side import Runs
from culvert.decide.gate import Judged
from culvert.errors import UsageError
from culvert.study.table import near

ORDER = (
    *(Change.SLOWER, Change.CHANGED, Change.FASTER),
    *(Change.DIFFERS, Change.UNCLEAR, Change.SAME),
)
"""The order in which they are shown."""
NO_VERDICT = "speeds of the two sides are not comparable"


@dataclass(frozen=True)
class CompareOutcome:
    """``found`` is in the order of display. ``in_run``: both sides are VPNs of one run;
    ``paired``: its blocks pair their trials."""

    a: Runs
    b: Runs
    tolerance: float
    alpha: float
    in_run: bool
    paired: bool
    found: tuple[Comparison, ...]
    absent: tuple[Absent, ...]
    warnings: tuple[str, ...]
    gate: tuple[Judged, ...] = ()
    """Its answers, the primary figure first; empty where none judges."""
    advice: str = ""
    """What would make them more precise."""

    @property
    def several(self) -> bool:
        """Whether the repetitions of a side are runs; else they are the trials of one run."""
        return len(self.a) + len(self.b) > 2

    @property
    def name(self) -> str:
        """Side B, as on the command line."""
        return " ".join(side.name for side in self.b)

    @property
    def counts(self) -> dict[Change, int]:
        """The number of comparisons with each result, without those of the baseline."""
        changes = [one.change for one in self.found if not one.control]
        return {change: changes.count(change) for change in ORDER}

    @property
    def regressed(self) -> bool:
        """By the gate, if one judges."""
        if self.gate:
            return any(one.fails for one in self.gate)
        return self.counts[Change.SLOWER] > 0

    @property
    def undecided(self) -> bool:
        """Whether a gate judges and cannot tell."""
        return bool(self.gate) and not self.regressed and not self.gate[0].passes


def compare(
    a: Runs,
    b: Runs,
    *,
    tolerance: float,
    alpha: float,
    only: Sequence[str] = (),
    metrics: Sequence[str] = (),
) -> CompareOutcome:
    """Compare two sides. ``metrics``: names or patterns; empty for the main metrics.

    Raises UsageError if there is nothing to compare.
    """
    wanted = list(metrics) or list(compared_metrics())
    rows = [[only_rows(one.rows, only) for one in side] for side in (a, b)]
    in_run = len(a) == len(b) == 1 and a[0].run.identity == b[0].run.identity
    names = (a[0].vpn or "", b[0].vpn or "")
    if all(names) and names[0] != names[1]:
        # Both sides get one name here; the heading shows which VPN is A and which is B.
        both = " \u2192 ".join(names)
        rows = [[frame.with_columns(vpn=pl.lit(both)) for frame in side] for side in rows]
    seen = [[_metrics(observations(frame), wanted) for frame in side] for side in rows]
    paired = False
    if in_run:
        run = a[0].run
        columns = Columns(_metrics(observations(a[0].every_row), wanted), run.design, run.line)
        paired = run.design.paired
        found = comparisons_in_run(
            seen[0][0], seen[1][0], columns.of, names, tolerance=tolerance, alpha=alpha
        )
    else:
        found = comparisons_of_runs(*seen, tolerance=tolerance, alpha=alpha)
    every = [pl.concat(side) for side in rows]
    missing = absent(every[0], every[1])
    if not found:
        both_sides = f"{' '.join(one.name for one in a)} and {' '.join(one.name for one in b)}"
        raise UsageError(both_sides, *_nothing(every, only, metrics, bool(missing)))
    if across(a, b):
        found = [_without_verdict(one) for one in found]
    rank = {change: index for index, change in enumerate(ORDER)}
    found.sort(key=lambda one: (one.control, rank[one.change]))
    return CompareOutcome(
        a,
        b,
        tolerance,
        alpha,
        in_run,
        paired,
        tuple(found),
        tuple(missing),
        tuple(warnings(a, b, found, in_run=in_run)),
    )


def _without_verdict(one: Comparison) -> Comparison:
    nothing = dict.fromkeys(
        ("ratio", "low", "high", "p_value", "p_adjusted", "p_beyond", "p_same", "more")
    )
    return replace(one, change=Change.UNCLEAR, why=NO_VERDICT, **nothing)  # type: ignore[arg-type]


def only_rows(rows: pl.DataFrame, patterns: Sequence[str]) -> pl.DataFrame:
    """The rows whose VPN, condition or measurement matches a pattern; all without a pattern."""
    if not patterns:
        return rows
    words = ("vpn", "condition", "measurement")
    kept = rows.select(words).unique()
    matching = [
        row
        for row in kept.iter_rows()
        if any(fnmatchcase(word, pattern) for word in row for pattern in patterns)
    ]
    chosen = pl.DataFrame(matching, schema=dict.fromkeys(words, pl.String), orient="row")
    return rows.join(chosen, on=list(words), how="semi", maintain_order="left")


def _metrics(observed: pl.DataFrame, wanted: Sequence[str]) -> pl.DataFrame:
    names = [
        name
        for name in observed["metric"].unique().to_list()
        if any(fnmatchcase(name, pattern) for pattern in wanted)
    ]
    found = observed.filter(pl.col("metric").is_in(names))
    # Metrics with labels (per node, per process) are compared only on request.
    return found if tuple(wanted) != compared_metrics() else found.filter(pl.col("labels") == "{}")


def _nothing(
    rows: Sequence[pl.DataFrame], only: Sequence[str], metrics: Sequence[str], missing: bool
) -> tuple[str, str]:
    if only and any(frame.is_empty() for frame in rows):
        given = ", ".join(map(repr, only))
        return f"--only {given} matches nothing of one side", "see culvert report"
    known = sorted({name for frame in rows for name in frame["metric"].drop_nulls().to_list()})
    if metrics and not any(fnmatchcase(name, one) for name in known for one in metrics):
        return f"no metric is named {', '.join(metrics)}", near(metrics[0], known)
    if missing:
        return (
            "the two sides have no cell in common",
            "compare runs of one study with the same parameters",
        )
    return "neither side has a trial that counts", "see culvert report for the reasons"
