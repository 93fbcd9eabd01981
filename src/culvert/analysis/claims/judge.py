"""Judging the claims of a study by the trials of a run. Pure.

A claim is true if all its comparisons are true in every context that it names: the p-value for it
is the greatest of theirs (an intersection-union test), the p-value against it the least, times
their number (Bonferroni). Holm's correction is over the claims of the study, without those that a
column answers (``analysis.column``): which of two VPNs is above has one answer in a report.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from culvert.analysis.claims.cells import Cells, Context, Series, matching
from culvert.analysis.claims.relation import Sides, answered, tested
from culvert.analysis.claims.verdict import Judged, Lack, Part, Verdict, joined
from culvert.analysis.column import Paired, column
from culvert.analysis.declared import better_of
from culvert.analysis.design import Design, looks_at_claims
from culvert.analysis.line import NO_LINE, Line
from culvert.metrics import Better
from culvert.statistics.holm import holm
from culvert.statistics.looks import Looks
from culvert.statistics.serial import FEWEST
from culvert.study.claims.claim import ClaimTable
from culvert.study.claims.test import BestOf, ClaimComparison, ClaimTest, Quantity, Side, VpnSide
from culvert.study.study import Study

ALPHA = 0.05
"""The probability that any claim of the study is decided wrongly, over all looks of the plan."""


def judge(
    study: Study,
    rows: pl.DataFrame,
    *,
    line: Line = NO_LINE,
    imported: bool = False,
) -> list[Judged]:
    """The verdict on every claim, in the study's order. ``rows`` are the journal's.

    ``imported``: another tool made the trials, not block by block: they are compared unpaired.

    No comparison across the ``line`` gets a verdict.
    """
    metrics = {test.metric for test in study.tests.values()}
    cells = Cells(study, rows, metrics, imported=imported)
    margins = {claim.id: claim.margin for claim in study.file.claim}
    # The level that Holm's correction leaves for each claim in its first step.
    looks = looks_at_claims(study, ALPHA / max(1, len(study.tests)))
    design = Design.of(study.canonical, imported=imported)
    parts: dict[str, tuple[Part, ...]] = {}
    for claim in study.file.claim:
        test = study.tests.get(claim.id)
        if test is not None:
            terms = _Terms(margins[claim.id], looks, line, design)
            parts[claim.id] = tuple(_parts(test, cells, terms))
    sums = {name: _summed(found) for name, found in parts.items()}
    least = {name: min(both) for name, both in sums.items() if both is not None}
    family = [name for name in least if not all(part.by_column for part in parts[name])]
    adjusted = least | dict(zip(family, holm([least[name] for name in family]), strict=True))
    return [
        _judged(
            claim,
            study.tests.get(claim.id),
            parts.get(claim.id, ()),
            sums.get(claim.id),
            adjusted.get(claim.id),
        )
        for claim in study.file.claim
    ]


@dataclass(frozen=True)
class _Terms:
    """``margin`` is that of "no different from"; ``looks`` are those at the claims."""

    margin: float
    looks: Looks
    line: Line
    design: Design


def _parts(test: ClaimTest, cells: Cells, terms: _Terms) -> Iterator[Part]:
    for comparison in test.comparisons:
        why = _across(comparison, terms.line)
        if why:
            yield Part(str(comparison), "", "{}", lack=Lack(why))
            continue
        contexts = list(_contexts(comparison, cells, test.measurement))
        if not contexts:
            why = f"the study plans no cell of {test.measurement} for both sides"
            yield Part(str(comparison), "", "{}", lack=Lack(why))
        for left, right in contexts:
            if terms.line.why and not cells.one_processor(left, right):
                why = (
                    f"{terms.line.why}, nor between processors: the guest has one, of its own kind"
                )
                yield Part(str(comparison), left.condition, left.parameters, lack=Lack(why))
                continue
            yield _part(comparison, left, right, test, cells, terms)


def _across(comparison: ClaimComparison, line: Line) -> str:
    """Why both sides are not comparable in this run; empty if they are."""
    sides = (comparison.left, comparison.right)
    constant = any(isinstance(side, Quantity) for side in sides)
    return line.objection((one.vpn for side in sides for one in _vpns(side)), constant=constant)


def _contexts(
    comparison: ClaimComparison, cells: Cells, measurement: str
) -> Iterator[tuple[Context, Context]]:
    sides = [_vpns(side) for side in (comparison.left, comparison.right)]
    if not sides[0] or not sides[1]:
        one = (sides[0] or sides[1])[0]
        yield from ((context, context) for context in cells.contexts(one, measurement))
        return
    left, right = sides[0][0], sides[1][0]
    yield from matching(
        cells.contexts(left, measurement),
        cells.contexts(right, measurement),
        left.where,
        right.where,
    )


def _vpns(side: Side) -> tuple[VpnSide, ...]:
    if isinstance(side, BestOf):
        return side.vpns
    return (side,) if isinstance(side, VpnSide) else ()


def _part(
    comparison: ClaimComparison,
    left: Context,
    right: Context,
    test: ClaimTest,
    cells: Cells,
    terms: _Terms,
) -> Part:
    part = Part(str(comparison), left.condition, left.parameters)
    values: list[Series | float] = []
    picked = 1
    for side, context in ((comparison.left, left), (comparison.right, right)):
        if isinstance(side, Quantity):
            values.append(float(side.value))
            continue
        candidates = _vpns(side)
        picked *= len(candidates)
        found = []
        for one in candidates:
            here = cells.beside(one, test.measurement, context, candidates[0].where)
            series = cells.series(one, here, test.measurement, test.metric)
            if not series:
                lack = cells.lack(one, here, test.measurement, test.metric)
                yet = Lack(f"{one.vpn} has no {test.metric} yet")
                return replace(part, lack=lack or yet, waiting=lack is None)
            found.append(series)
        values.append(_best(found, better_of(test.metric, test.measurement)))
    sides = Sides.of(
        values[0],
        values[1],
        absolute=comparison.by is not None,
        blocked=terms.design.paired and left == right,
        cautious=terms.design.cautious,
    )
    pair = _column_pair(comparison, left, right, test, cells, terms)
    if pair is not None and pair.logarithmic == sides.logarithmic:
        sides = replace(sides, decided=pair)
        outcome = answered(comparison, pair)
        if outcome is not None:
            return replace(
                part,
                effect=sides.effect(pair.level),
                p_supports=outcome.p_supports,
                p_contradicts=outcome.p_contradicts,
                n=pair.n,
                paired=sides.paired,
                more=None if (drifts := sides.drifts()) else outcome.more,
                drifts=drifts,
                by_column=True,
            )
    outcome = tested(comparison, sides, terms.margin, terms.looks.level(sides.n))
    if outcome is None:
        short = FEWEST - sides.n
        why = f"{sides.n} of at least {FEWEST} repetitions"
        return replace(
            part, n=sides.n, paired=sides.paired, more=short, waiting=True, lack=Lack(why)
        )
    # The best was selected from the same data.
    drifts = sides.drifts()
    return replace(
        part,
        effect=sides.effect(1 - replace(terms.looks, alpha=ALPHA).level(sides.n)),
        p_supports=terms.looks.adjusted(picked * outcome.p_supports, sides.n),
        p_contradicts=terms.looks.adjusted(picked * outcome.p_contradicts, sides.n),
        n=sides.n,
        paired=sides.paired and not sides.constant,
        more=None if drifts else outcome.more,
        drifts=drifts,
    )


def _column_pair(
    comparison: ClaimComparison,
    left: Context,
    right: Context,
    test: ClaimTest,
    cells: Cells,
    terms: _Terms,
) -> Paired | None:
    """The column's decision on two VPNs in one cell; None for other comparisons."""
    one, other = comparison.left, comparison.right
    if not (isinstance(one, VpnSide) and isinstance(other, VpnSide)) or left != right:
        return None
    if set(one.where.labels) != set(other.where.labels):
        return None
    series = cells.beside_all(one, left, test.measurement, test.metric)
    pair = column(series, terms.design, terms.line).between(one.vpn, other.vpn)
    return pair if pair is not None and pair.contrast is not None else None


def _best(found: Sequence[Series], better: Better) -> Series:
    sign = -1.0 if better is Better.LESS else 1.0
    return max(found, key=lambda series: sign * math.fsum(series.values()) / len(series))


def _summed(parts: Sequence[Part]) -> tuple[float, float] | None:
    """p for and p against the whole claim; None if nothing could be tested."""
    against = [part.p_contradicts for part in parts if part.p_contradicts is not None]
    if not against:
        return None
    # A comparison that could not be tested is evidence neither for nor against.
    supports = [1.0 if part.p_supports is None else part.p_supports for part in parts]
    return max(supports), min(1.0, min(against) * len(parts))


def _judged(
    claim: ClaimTable,
    test: ClaimTest | None,
    parts: tuple[Part, ...],
    both: tuple[float, float] | None,
    adjusted: float | None,
) -> Judged:
    decision = _Decision(Verdict.NOT_TESTABLE, why="the study gives no test for it")
    if test is not None:
        decision = _verdict(parts, both, adjusted) or _open(parts)
    return Judged(
        id=claim.id,
        text=claim.text,
        source=claim.source,
        place=claim.place,
        test=claim.test or "",
        metric=f"{test.measurement}.{test.metric}" if test else "",
        unit=test.unit if test else "",
        verdict=decision.verdict,
        p_value=None if decision.verdict is Verdict.NOT_TESTABLE else adjusted,
        telling=decision.telling,
        parts=parts,
        more=decision.more,
        why=decision.why,
    )


@dataclass(frozen=True)
class _Decision:
    verdict: Verdict
    telling: Part | None = None
    more: int | None = None
    why: str = ""


def _verdict(
    parts: Sequence[Part], both: tuple[float, float] | None, adjusted: float | None
) -> _Decision | None:
    """Supported or contradicted; None if the data do not decide."""
    if both is None or adjusted is None or adjusted > ALPHA:
        return None
    supports, contradicts = both
    measured = [part for part in parts if part.p_contradicts is not None]
    if contradicts < supports:
        against = min(measured, key=lambda part: part.p_contradicts or 0.0)
        return _Decision(Verdict.CONTRADICTED, against)
    return _Decision(Verdict.SUPPORTED, _weakest(measured))


def _open(parts: Sequence[Part]) -> _Decision:
    """Why there is no verdict, and how many repetitions would decide."""
    untested = [part for part in parts if part.p_supports is None]
    lacks = {part.lack: part.waiting for part in untested if part.lack}
    impossible = [lack for lack, waiting in lacks.items() if not waiting]
    if impossible:
        return _Decision(Verdict.NOT_TESTABLE, why=joined(impossible))
    if untested:
        more = max((part.more for part in untested if part.more), default=FEWEST)
        return _Decision(Verdict.UNDECIDED, more=more, why=str(next(iter(lacks))))
    still = [part for part in parts if (part.p_supports or 0.0) > ALPHA] or parts
    telling = _weakest(still)
    if any(part.drifts for part in still):
        why = "no number of repetitions decides, because the values drift"
        return _Decision(Verdict.UNDECIDED, telling, why=why)
    needed = [part.more for part in still if part.more is not None]
    if len(needed) < len(still):
        why = "no practical number of repetitions decides"
        return _Decision(Verdict.UNDECIDED, telling, why=why)
    return _Decision(Verdict.UNDECIDED, telling, max(needed))


def _weakest(parts: Sequence[Part]) -> Part:
    return max(parts, key=lambda part: part.p_supports or 0.0)
