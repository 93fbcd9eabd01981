"""The verdicts in the terminal."""

from __future__ import annotations

from collections import Counter

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from culvert.analysis.claims.verdict import WITHOUT_TEST, Verdict
from culvert.report.claims import Claims
from culvert.report.labels import Labels
from culvert.report.views.claims import counts, evidence
from culvert.units import plural

MOST_WITHOUT_TEST = 6
"""More claims that were not tested are summarised, in one row for each reason's kind."""

_STYLES = {
    Verdict.SUPPORTED: "green",
    Verdict.CONTRADICTED: "red",
    Verdict.UNDECIDED: "yellow",
    Verdict.NOT_TESTABLE: "dim",
    Verdict.NOT_MEASURED: "dim",
}


def claims_text(claims: Claims, labels: Labels) -> RenderableType:
    """One row per claim with its verdict, and its evidence below."""
    if claims.trouble:
        return Text(f"Claims: {claims.trouble}", style="yellow")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("verdict", no_wrap=True)
    table.add_column(f"claim ({counts(claims)})")
    hidden = [one for one in claims.judged if one.verdict in WITHOUT_TEST]
    if len(hidden) <= MOST_WITHOUT_TEST:
        hidden = []
    for one in claims.judged:
        if one in hidden:
            continue
        claim = Text.assemble(one.text, (f"\n{evidence(one, labels)}", "dim"))
        table.add_row(Text(str(one.verdict), style=_STYLES[one.verdict]), claim)
    for verdict in WITHOUT_TEST:
        reasons = Counter(one.why for one in hidden if one.verdict is verdict)
        if not reasons:
            continue
        reason, count = reasons.most_common(1)[0]
        total = reasons.total()
        hidden_text = Text.assemble(
            f"{plural(total, 'claim')}; all are in the report",
            (f"\n{'all' if count == total else f'{count} of them'}: {reason}", "dim"),
        )
        table.add_row(Text(str(verdict), style=_STYLES[verdict]), hidden_text)
    return Group(table, Text(""))
