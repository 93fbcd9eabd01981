"""The verdicts in the terminal."""

from __future__ import annotations

from collections import Counter

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from culvert.analysis.claims.verdict import Verdict
from culvert.report.claims import Claims
from culvert.report.labels import Labels
from culvert.report.views.claims import counts, evidence

MOST_NOT_TESTABLE = 6
"""More claims without a verdict are summarised in one row."""

_STYLES = {
    Verdict.SUPPORTED: "green",
    Verdict.CONTRADICTED: "red",
    Verdict.UNDECIDED: "yellow",
    Verdict.NOT_TESTABLE: "dim",
}


def claims_text(claims: Claims, labels: Labels) -> RenderableType:
    """One row per claim with its verdict, and its evidence below."""
    if claims.trouble:
        return Text(f"Claims: {claims.trouble}", style="yellow")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("verdict", no_wrap=True)
    table.add_column(f"claim ({counts(claims)})")
    hidden = [one for one in claims.judged if one.verdict is Verdict.NOT_TESTABLE]
    if len(hidden) <= MOST_NOT_TESTABLE:
        hidden = []
    for one in claims.judged:
        if one in hidden:
            continue
        claim = Text.assemble(one.text, (f"\n{evidence(one, labels)}", "dim"))
        table.add_row(Text(str(one.verdict), style=_STYLES[one.verdict]), claim)
    if hidden:
        reason, count = Counter(one.why for one in hidden).most_common(1)[0]
        all_ = count == len(hidden)
        hidden_text = Text.assemble(
            f"{len(hidden)} claims; all are in the report",
            (f"\n{'all' if all_ else f'{count} of them'}: {reason}", "dim"),
        )
        table.add_row(
            Text(str(Verdict.NOT_TESTABLE), style=_STYLES[Verdict.NOT_TESTABLE]), hidden_text
        )
    return Group(table, Text(""))
