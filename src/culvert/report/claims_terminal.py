"""The verdicts in the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from culvert.analysis.claims.verdict import Verdict
from culvert.report.claims import Claims
from culvert.report.claims_view import counts, evidence
from culvert.report.labels import Labels

_STYLES = {
    Verdict.SUPPORTED: "green",
    Verdict.CONTRADICTED: "red",
    Verdict.UNDECIDED: "yellow",
    Verdict.NOT_TESTABLE: "dim",
}


def claims_text(claims: Claims, labels: Labels) -> RenderableType:
    """A line a claim with its verdict, and its evidence below."""
    if claims.trouble:
        return Text(f"Claims: {claims.trouble}", style="yellow")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("verdict", no_wrap=True)
    table.add_column(f"claim ({counts(claims)})")
    for one in claims.judged:
        claim = Text.assemble(one.text, (f"\n{evidence(one, labels)}", "dim"))
        table.add_row(Text(str(one.verdict), style=_STYLES[one.verdict]), claim)
    return Group(table, Text(""))
