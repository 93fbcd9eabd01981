"""A reproduction as text and as data, the same for the terminal, Markdown and JSON."""

from __future__ import annotations

from typing import Any

from culvert.compare.document import document as compared
from culvert.compare.sheet import Row, Sheet, Verdicts
from culvert.compare.words import figure_table, lines, missing, percent
from culvert.reproduce.outcome import OF_CHANGE, ClaimAgain, ReproduceOutcome, Reproduction

ALONE = (
    "The scatter between runs of one machine is not included: a figure close to the tolerance "
    "may change in another run."
)


_STYLES = {
    Reproduction.REPRODUCED: "green",
    Reproduction.CONTRADICTED: "bold red",
    Reproduction.UNCLEAR: "yellow",
}


def sheet(outcome: ReproduceOutcome) -> Sheet:
    """Everything for people: claims, then figures, contradicted ones first."""
    tables = []
    if outcome.claims:
        claims = [
            _row(
                one.verdict,
                (f"{one.before.id}: {one.before.text}", str(one.before.verdict), one.why),
            )
            for one in outcome.claims
        ]
        tables.append(Verdicts(("claim", "published", "note"), "lll", claims))
    if outcome.figures is not None:
        figures = [
            Row("", "", (*one.texts, f"the baseline, as measured; {one.note}".rstrip("; ")), True)
            if one.control
            else _row(OF_CHANGE[one.verdict], (*one.texts, one.note))
            for one in lines(outcome.figures)
        ]
        tables.append(figure_table("published", "here", figures))
    return Sheet(
        summary(outcome),
        outcome.contradicted,
        heading(outcome),
        warnings(outcome),
        tables,
        missing(outcome.figures) if outcome.figures else (),
        method(outcome),
    )


def _row(verdict: Reproduction, texts: tuple[str, ...]) -> Row:
    return Row(str(verdict), _STYLES[verdict], texts)


def heading(outcome: ReproduceOutcome) -> list[tuple[str, str]]:
    """The two runs."""
    return [
        (name, f"{side.directory}, {side.run.started_at[:16].replace('T', ' ')} UTC")
        for name, side in (("published", outcome.before), ("here", outcome.now))
    ]


def warnings(outcome: ReproduceOutcome) -> tuple[str, ...]:
    """What limits the answer."""
    found = outcome.figures.warnings if outcome.figures else ("no headline figure is in both runs",)
    return (*filter(None, [outcome.trouble]), *found)


def summary(outcome: ReproduceOutcome) -> str:
    """``4 reproduced, 1 contradicted, 2 cannot tell``."""
    return ", ".join(f"{count} {verdict}" for verdict, count in outcome.counts.items())


def method(outcome: ReproduceOutcome) -> str:
    """Procedures and error rates."""
    alpha, share = percent(outcome.alpha), percent(outcome.tolerance)
    return (
        "Claims: as the run here decides them, at most 5 % that any claim of one column of its "
        "report is decided wrongly, and as much for all other claims together. Figures: "
        f"against the baseline of the same block; contradicted: significantly outside {share} of "
        f"the published figure, reproduced: significantly within it, at most {alpha} each that any "
        f"is wrong (trial by trial, Holm). {ALONE}"
    )


def document(outcome: ReproduceOutcome) -> dict[str, Any]:
    """For programs, in the journal's units."""
    figures = compared(outcome.figures) if outcome.figures else {"comparisons": [], "absent": []}
    verdicts = [OF_CHANGE[one.change] for one in outcome.figures.found] if outcome.figures else []
    return {
        "published": str(outcome.before.directory),
        "here": str(outcome.now.directory),
        "study": outcome.before.run.study,
        "tolerance": outcome.tolerance,
        "alpha": outcome.alpha,
        "counts": {str(verdict): count for verdict, count in outcome.counts.items()},
        "warnings": list(warnings(outcome)),
        "claims": [_claim(one) for one in outcome.claims],
        "figures": [
            one | {"verdict": str(verdict)}
            for one, verdict in zip(figures["comparisons"], verdicts, strict=True)
        ],
        "absent": figures["absent"],
    }


def _claim(one: ClaimAgain) -> dict[str, str]:
    return {
        "id": one.before.id,
        "text": one.before.text,
        "published": str(one.before.verdict),
        "here": str(one.now.verdict),
        "verdict": str(one.verdict),
        "why": one.why,
    }
