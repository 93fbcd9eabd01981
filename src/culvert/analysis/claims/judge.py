"""Judging the claims of a study by the trials of a run. Pure.

A claim is true if all its comparisons are true in every context that it names: the p-value for it
is the greatest of theirs (an intersection-union test), the p-value against it the least, times
their number (Bonferroni). Holm's correction is over the claims of the study, without those that a
column answers (``analysis.column``): which of two VPNs is above has one answer in a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from culvert.analysis.claims.cells import Cells
from culvert.analysis.claims.parts import Terms, parts_of
from culvert.analysis.claims.verdict import ALPHA, WITHOUT_TEST, Judged, Part, Verdict, joined
from culvert.analysis.design import Design, looks_at_claims
from culvert.analysis.line import NO_LINE, Line
from culvert.statistics.holm import holm
from culvert.statistics.serial import FEWEST
from culvert.study.claims.claim import ClaimTable
from culvert.study.claims.test import ClaimTest
from culvert.study.study import Study


def judge(
    study: Study,
    rows: pl.DataFrame,
    *,
    line: Line = NO_LINE,
    imported: bool = False,
    ended: bool = False,
) -> list[Judged]:
    """The verdict on every claim, in the study's order. ``rows`` are the journal's.

    ``imported``: another tool made the trials, not block by block: they are compared unpaired.
    ``ended``: no more trials are to come; what has none is not measured.

    No comparison across the ``line`` gets a verdict.
    """
    metrics = {test.metric for test in study.tests.values()}
    cells = Cells(study, rows, metrics, imported=imported, ended=ended)
    # The level that Holm's correction leaves for each claim in its first step.
    looks = looks_at_claims(study, ALPHA / max(1, len(study.tests)))
    design = Design.of(study.file.model_dump(mode="json", include={"plan"}), imported=imported)
    parts: dict[str, tuple[Part, ...]] = {}
    for claim in study.file.claim:
        test = study.tests.get(claim.id)
        if test is not None:
            terms = Terms(claim.margin, looks, line, design)
            parts[claim.id] = tuple(parts_of(test, cells, terms))
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
    decision = _Decision(Verdict.NOT_TESTABLE, why="the study has no test for it")
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
        p_value=None if decision.verdict in WITHOUT_TEST else adjusted,
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
        left_out = all(lack.unmeasured for lack in impossible)
        verdict = Verdict.NOT_MEASURED if left_out else Verdict.NOT_TESTABLE
        return _Decision(verdict, why=joined(impossible))
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
