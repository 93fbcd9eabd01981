"""A published run against another: reproduced, contradicted, cannot tell.

One procedure answers each question, and its error rate is that of the answer: a claim is judged by
the other run alone, as its report judges it; a figure is compared as ``culvert compare`` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from culvert.analysis.claims.verdict import Judged, Verdict
from culvert.analysis.compare.verdict import Change
from culvert.analysis.summary import summarise
from culvert.compare.outcome import CompareOutcome
from culvert.compare.side import Side, read_run
from culvert.errors import UsageError
from culvert.journal.resuming import differences
from culvert.report.claims import Claims, claims_of
from culvert.reproduce.figures import compared_figures


class Reproduction(StrEnum):
    """What another run says of a claim or a figure."""

    REPRODUCED = "reproduced"
    CONTRADICTED = "contradicted"
    UNCLEAR = "cannot tell"


OF_CHANGE = {
    Change.SAME: Reproduction.REPRODUCED,
    Change.SLOWER: Reproduction.CONTRADICTED,
    Change.FASTER: Reproduction.CONTRADICTED,
    Change.CHANGED: Reproduction.CONTRADICTED,
    Change.DIFFERS: Reproduction.UNCLEAR,
    Change.UNCLEAR: Reproduction.UNCLEAR,
}
"""A figure is contradicted only if it is significantly outside the tolerance."""


_SETTLED = (Verdict.SUPPORTED, Verdict.CONTRADICTED)


@dataclass(frozen=True)
class ClaimAgain:
    """A claim as the published run judges it, and as the other does."""

    before: Judged
    now: Judged
    verdict: Reproduction
    why: str = ""


@dataclass(frozen=True)
class ReproduceOutcome:
    """``figures`` is None without a headline figure in common; ``trouble`` is why the claims could
    not be judged, else empty."""

    before: Side
    now: Side
    tolerance: float
    alpha: float
    claims: tuple[ClaimAgain, ...]
    figures: CompareOutcome | None
    trouble: str = ""

    @property
    def counts(self) -> dict[Reproduction, int]:
        """Of claims and figures, without the baseline's."""
        found = [one.verdict for one in self.claims]
        if self.figures is not None:
            found += [OF_CHANGE[one.change] for one in self.figures.found if not one.control]
        return {verdict: found.count(verdict) for verdict in Reproduction}

    @property
    def contradicted(self) -> bool:
        """Whether anything is."""
        return self.counts[Reproduction.CONTRADICTED] > 0


def reproduction(
    published: Path, other: Path, *, name: Path, tolerance: float, alpha: float
) -> ReproduceOutcome:
    """Compare the run in ``other`` with the published one, which is shown by its ``name``.

    Raises JournalError, and UsageError if they are not of one study.
    """
    before, now = _side(published, name), _side(other, other)
    _refuse_other_study(before, now)
    if before.run.identity == now.run.identity:
        raise UsageError(
            str(now.directory),
            "it is the published run itself",
            "give the journal of another run, or leave out --journal to make one",
        )
    old, new = _judged(before), _judged(now)
    again = tuple(map(claim_again, old.judged, new.judged))
    return ReproduceOutcome(
        before,
        now,
        tolerance,
        alpha,
        again,
        compared_figures(before, now, tolerance=tolerance, alpha=alpha),
        old.trouble or new.trouble,
    )


def claim_again(before: Judged, now: Judged) -> ClaimAgain:
    """Reproduced or contradicted if both runs decide the claim; else the reason."""
    if before.verdict not in _SETTLED:
        return ClaimAgain(before, now, Reproduction.UNCLEAR, f"published as {before.verdict}")
    if now.verdict in _SETTLED:
        same = before.verdict is now.verdict
        verdict = Reproduction.REPRODUCED if same else Reproduction.CONTRADICTED
        return ClaimAgain(before, now, verdict)
    return ClaimAgain(before, now, Reproduction.UNCLEAR, "; ".join(_why(now)))


def _why(now: Judged) -> Iterator[str]:
    yield str(now.verdict)
    if now.why:
        yield now.why
    if now.more:
        yield f"about {now.more} more repetitions would decide"


def _side(directory: Path, name: Path) -> Side:
    run, rows = read_run(directory)
    return Side(name, None, run, rows, rows)


def _refuse_other_study(before: Side, now: Side) -> None:
    """The texts are compared: newer versions add defaults to the canonical content."""
    if before.run.toml == now.run.toml and before.run.scale == now.run.scale:
        return
    found = differences(before.run.canonical, now.run.canonical)
    raise UsageError(
        str(now.directory),
        f"its study is not that of {before.directory}: {found or 'its text differs'}",
        "run the study of the bundle: culvert reproduce BUNDLE",
    )


def _judged(side: Side) -> Claims:
    return claims_of(side.run, side.rows, summarise(side.rows))
