"""Every metric of every cell, A against B."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from culvert.analysis.compare.verdict import (
    NOTHING,
    TOO_FEW_RUNS,
    AdjustedPValues,
    Change,
    Tolerance,
    judge,
)
from culvert.analysis.declared import better_of
from culvert.analysis.observations import CELL, METRIC
from culvert.decide.contrast import Contrast, run_contrast, unpaired_contrast
from culvert.decide.decision import Decision, Pair
from culvert.metrics import Better
from culvert.statistics.holm import factors, holm
from culvert.statistics.values import ratio_of
from culvert.study.vpn_id import BASELINE

MOST_ALPHA, MOST_TOLERANCE = 0.2, 0.5
"""The largest that a user may choose."""
ALPHA = 0.05
"""The family-wise error rate of a whole comparison."""
TOLERANCE = 0.03
"""Differences up to this share count as equal, unless another is given."""


@dataclass(frozen=True)
class Comparison:
    """One metric of one cell. ``ratio``, ``low`` and ``high`` are B over A with a 95 % interval.

    It excludes 1 exactly if ``p_adjusted`` is at most 5 %. They are None where A is 0 or there are
    fewer than five trials, and the ends where no trial scatters. ``p_value`` is of "no
    difference" alone; ``p_adjusted``, ``p_beyond`` (of "no more than the tolerance") and ``p_same``
    (of "at least the tolerance") are adjusted. ``runs_a`` and ``runs_b`` are the numbers of runs,
    None if the repetitions are the trials of one run. ``control`` marks the baseline: it is not a
    VPN, so a change there is one of the machine.
    """

    vpn: str
    condition: str
    measurement: str
    parameters: str
    metric: str
    labels: str
    unit: str
    direction: Better
    n_a: int
    n_b: int
    median_a: float
    median_b: float
    ratio: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None
    p_beyond: float | None
    p_same: float | None
    effective: float | None
    correlated: bool
    paired: bool
    change: Change
    why: str
    more: int | None
    control: bool
    runs_a: int | None = None
    runs_b: int | None = None


@dataclass(frozen=True)
class _Pair:
    """The series of A and B in the order of their blocks. ``decision`` is that of the column, if
    both are of one run."""

    key: tuple[str, ...]
    a: tuple[float, ...]
    b: tuple[float, ...]
    contrast: Contrast | None
    logarithmic: bool
    decision: Pair | None = None
    runs: tuple[int, int] | None = None
    """The number of runs per side; None if the repetitions are the trials of one run."""

    @property
    def control(self) -> bool:
        return self.key[0] == BASELINE

    def tolerance(self, share: float) -> Tolerance:
        if self.logarithmic:
            return Tolerance.of_ratio(share)
        return Tolerance.of_difference(share, float(np.mean(self.a)))

    def ratio(self, difference: float) -> float | None:
        """B over A, from a difference in the contrast's scale."""
        if self.logarithmic:
            return ratio_of(difference)
        base = float(np.mean(self.a))
        return 1 + difference / base if base > 0 else None


def comparisons_of_runs(
    a: Sequence[pl.DataFrame],
    b: Sequence[pl.DataFrame],
    *,
    tolerance: float = TOLERANCE,
    alpha: float = ALPHA,
) -> list[Comparison]:
    """Compare the common cells. With one run per side its trials are the repetitions, else runs.

    The p-values are adjusted after Holm over all comparisons without those of the baseline, which
    are a separate family.
    """
    sides = [_series(side) for side in (a, b)]
    pairs = [
        _across_runs(key, sides[0][key], sides[1][key], single=len(a) == len(b) == 1)
        for key in sides[0]
        if key in sides[1]
    ]
    return _all_judged(pairs, tolerance, alpha)


def comparisons_in_run(
    a: pl.DataFrame,
    b: pl.DataFrame,
    column_of: Callable[[Sequence[str]], Decision],
    names: tuple[str, str],
    *,
    tolerance: float = TOLERANCE,
    alpha: float = ALPHA,
) -> list[Comparison]:
    """Compare two VPNs of one run, ``names``, whose observations have one name in ``a`` and ``b``.

    Whether they differ is decided by their column, among all VPNs of the run; ``column_of`` returns
    it by (condition, measurement, parameters, metric, labels, unit). The tests of the
    tolerance are adjusted after Holm over the comparisons.
    """
    sides = [_series([side]) for side in (a, b)]
    pairs = []
    for key in sides[0]:
        if key not in sides[1]:
            continue
        old, new = sides[0][key][0], sides[1][key][0]
        decision = column_of(key[1:]).between(names[1], names[0])
        contrast = decision.contrast if decision else None
        logarithmic = bool(decision and decision.logarithmic)
        pairs.append(_Pair(key, old, new, contrast, logarithmic, decision))
    return _all_judged(pairs, tolerance, alpha)


Values = tuple[float, ...]
Key = tuple[str, ...]


def _series(runs: Sequence[pl.DataFrame]) -> dict[Key, list[Values]]:
    """For each cell and metric the values of each run that has it, in the order of its blocks."""
    keys = [*CELL, *METRIC]
    found: dict[Key, list[Values]] = {}
    for frame in runs:
        grouped = (
            frame.sort([*keys, "block", "trial"])
            .group_by(keys, maintain_order=True)
            .agg(pl.col("value"))
        )
        for *key, values in grouped.iter_rows():
            found.setdefault(tuple(map(str, key)), []).append(tuple(values))
    return found


def _across_runs(
    key: Key, before: Sequence[Values], after: Sequence[Values], *, single: bool
) -> _Pair:
    old, new = ([np.asarray(run, dtype=np.float64) for run in side] for side in (before, after))
    logarithmic = all((run > 0).all() for run in (*old, *new))
    if logarithmic:
        old, new = [np.log(run) for run in old], [np.log(run) for run in new]
    contrast = unpaired_contrast(old[0], new[0]) if single else run_contrast(old, new)
    one, other = (tuple(value for run in side for value in run) for side in (before, after))
    runs = None if single else (len(before), len(after))
    return _Pair(key, one, other, contrast, logarithmic, None, runs)


def _all_judged(pairs: Sequence[_Pair], tolerance: float, alpha: float) -> list[Comparison]:
    evidence: dict[Key, AdjustedPValues] = {}
    for control in (False, True):
        family = [p for p in pairs if p.contrast is not None and p.control is control]
        evidence.update(_evidence(family, tolerance))
    return [_judged(pair, evidence.get(pair.key, NOTHING), tolerance, alpha) for pair in pairs]


def _evidence(family: Sequence[_Pair], share: float) -> dict[Key, AdjustedPValues]:
    ends = [pair.tolerance(share) for pair in family]
    contrasts = [pair.contrast for pair in family if pair.contrast is not None]
    both = list(zip(contrasts, ends, strict=True))
    p_values = [contrast.p_two_sided() for contrast in contrasts]
    by = factors(p_values)
    # The factor for the looks of a rule that could end the run.
    looks = [pair.decision.looks if pair.decision else 1.0 for pair in family]
    beyond = holm(
        [k * one.p_outside(end.low, end.high) for k, (one, end) in zip(looks, both, strict=True)]
    )
    same = holm(
        [k * one.p_between(end.low, end.high) for k, (one, end) in zip(looks, both, strict=True)]
    )
    found = {}
    for pair, p_value, factor, more, less in zip(family, p_values, by, beyond, same, strict=True):
        decision = pair.decision
        found[pair.key] = AdjustedPValues(
            differs=min(1.0, p_value * factor) if decision is None else decision.p_value,
            factor=factor,
            beyond=more,
            same=less,
            cost=len(family),
            possible=decision is None or decision.possible,
            column=decision is not None,
        )
    return found


def _judged(pair: _Pair, evidence: AdjustedPValues, share: float, alpha: float) -> Comparison:
    vpn, condition, measurement, parameters, metric, labels, unit = pair.key
    contrast, decision = pair.contrast, pair.decision
    direction = better_of(metric, measurement)
    judgement = judge(contrast, evidence, pair.tolerance(share), direction, alpha)
    low, high = _ends(contrast, evidence, decision) or (None, None)
    more, why = judgement.more, judgement.why
    if judgement.change is Change.UNCLEAR and decision is not None:
        if contrast is None or not pair.tolerance(share).holds(contrast.estimate):
            more = decision.more
        elif not decision.possible:
            more = max(more or 0, decision.more or 0)
    if contrast is None and pair.runs is not None:
        why = TOO_FEW_RUNS
    return Comparison(
        vpn=vpn,
        condition=condition,
        measurement=measurement,
        parameters=parameters,
        metric=metric,
        labels=labels,
        unit=unit,
        direction=direction,
        n_a=len(pair.a),
        n_b=len(pair.b),
        median_a=float(np.median(pair.a)),
        median_b=float(np.median(pair.b)),
        ratio=pair.ratio(contrast.estimate) if contrast else None,
        low=None if low is None else pair.ratio(low),
        high=None if high is None else pair.ratio(high),
        p_value=contrast.p_two_sided() if contrast else None,
        p_adjusted=evidence.differs if contrast else None,
        p_beyond=evidence.beyond if contrast else None,
        p_same=evidence.same if contrast else None,
        effective=contrast.effective if contrast else None,
        correlated=bool(contrast and contrast.correlated),
        paired=bool(contrast and contrast.paired),
        change=judgement.change,
        why=why,
        more=more,
        control=pair.control,
        runs_a=pair.runs[0] if pair.runs else None,
        runs_b=pair.runs[1] if pair.runs else None,
    )


def _ends(
    contrast: Contrast | None, evidence: AdjustedPValues, decision: Pair | None
) -> tuple[float, float] | None:
    """The interval, at the level of the test; None where nothing scatters."""
    if decision is not None:
        return decision.ends
    if contrast is None or not contrast.se:
        return None
    return contrast.interval(1 - ALPHA / evidence.factor)


@dataclass(frozen=True)
class Absent:
    """A cell without a counterpart; ``side`` is the one on which it is missing, A or B."""

    vpn: str
    condition: str
    measurement: str
    parameters: str
    side: str
    why: str


def absent(a: pl.DataFrame, b: pl.DataFrame) -> list[Absent]:
    """Cells with trials that count on only one side. Frames are the journal's rows."""
    found = []
    for side, here, there in (("A", a, b), ("B", b, a)):
        counted = there.filter(pl.col("status") == "ok").select(CELL).unique()
        missing = counted.join(
            here.filter(pl.col("status") == "ok").select(CELL).unique(), on=list(CELL), how="anti"
        )
        reasons = here.group_by(CELL).agg(
            status=pl.col("status").first(), reason=pl.col("reason").first()
        )
        explained = missing.join(reasons, on=list(CELL), how="left").sort(CELL)
        for vpn, condition, measurement, parameters, status, reason in explained.iter_rows():
            why = "it was not measured" if status is None else f"{status}: {reason or 'no reason'}"
            found.append(Absent(vpn, condition, measurement, parameters, side, why))
    return found
