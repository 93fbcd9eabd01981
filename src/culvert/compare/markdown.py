"""A comparison as Markdown, for a pull request."""

from __future__ import annotations

import re

from culvert.compare.outcome import CompareOutcome
from culvert.compare.words import heading, lines, method, missing, summary
from culvert.console import printable

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#!])")
_BREAKS = re.compile(r"[\t-\r\x85\u2028\u2029]+")
_COLUMNS = ("verdict", "VPN", "cell", "metric", "A", "B", "change [95 %]", "note")


def markdown(outcome: CompareOutcome) -> str:
    """A heading with the summary, the table, what is missing, the method."""
    parts = [f"### {literal(summary(outcome))}", ""]
    parts += [f"- **{name}**: {literal(entry)}" for name, entry in heading(outcome)]
    parts += [f"- **Caution**: {literal(warning)}" for warning in outcome.warnings]
    parts += ["", row(_COLUMNS), row(("---",) * 4 + ("---:",) * 3 + ("---",))]
    for line in lines(outcome):
        verdict = str(line.verdict)
        cells = [verdict if line.control else f"**{verdict}**"]
        cells += [literal(line.vpn), literal(line.cell), literal(line.metric), literal(line.before)]
        note = f"the baseline; {line.note}".rstrip("; ") if line.control else line.note
        cells += [literal(line.after), literal(line.change), literal(note)]
        parts.append(row(cells))
    not_compared = missing(outcome)
    if not_compared:
        parts += ["", "Not compared:", ""]
        parts += [f"- {literal(entry)}" for entry in not_compared]
    return "\n".join([*parts, "", literal(method(outcome)), ""])


def row(cells: tuple[str, ...] | list[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def literal(text: str) -> str:
    """Text of studies and imports is shown literally: no markup, no link, one line."""
    return _SPECIAL.sub(r"\\\1", printable(_BREAKS.sub(" ", text)))
