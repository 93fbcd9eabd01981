"""A reproduction as Markdown, for a review."""

from __future__ import annotations

from culvert.compare.markdown import literal, row
from culvert.compare.words import missing
from culvert.reproduce.outcome import ReproduceOutcome
from culvert.reproduce.words import figure_lines, heading, method, summary, warnings


def markdown(outcome: ReproduceOutcome) -> str:
    """A heading with the summary, claims, figures, what is missing, the method."""
    parts = [f"### {literal(summary(outcome))}", ""]
    parts += [f"- **{name}**: {literal(shown)}" for name, shown in heading(outcome)]
    parts += [f"- **Caution**: {literal(warning)}" for warning in warnings(outcome)]
    if outcome.claims:
        parts += ["", row(("verdict", "claim", "published", "note")), row(("---",) * 4)]
        for one in outcome.claims:
            claim = f"{one.before.id}: {one.before.text}"
            cells = [
                f"**{one.verdict}**",
                literal(claim),
                str(one.before.verdict),
                literal(one.why),
            ]
            parts.append(row(cells))
    if outcome.figures is not None:
        names = ("verdict", "VPN", "cell", "metric", "published", "here", "change [95 %]", "note")
        parts += ["", row(names), row(("---",) * 4 + ("---:",) * 3 + ("---",))]
        for line in figure_lines(outcome):
            shown = (line.vpn, line.cell, line.metric, line.published, line.here, line.change)
            verdict = "" if line.control else f"**{line.verdict}**"
            parts.append(row([verdict, *map(literal, (*shown, line.note))]))
        not_compared = missing(outcome.figures)
        if not_compared:
            parts += ["", "Not compared:", "", *(f"- {literal(entry)}" for entry in not_compared)]
    return "\n".join([*parts, "", literal(method(outcome)), ""])
