"""A comparison for the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from culvert.analysis.compare.verdict import Change
from culvert.compare.outcome import CompareOutcome
from culvert.compare.words import WordedLine, heading, lines, method, missing, summary

STYLES = {
    Change.SLOWER: "bold red",
    Change.FASTER: "bold green",
    Change.CHANGED: "bold yellow",
    Change.DIFFERS: "bold yellow",
    Change.UNCLEAR: "yellow",
    Change.SAME: "green",
}


def render(outcome: CompareOutcome) -> RenderableType:
    """Sides, warnings, a table, what is missing, and the summary."""
    parts: list[RenderableType] = [
        Text.assemble((f"{name}  ", "bold"), shown) for name, shown in heading(outcome)
    ]
    parts += [Text(f"!  {warning}", style="yellow") for warning in outcome.warnings]
    parts.append(_table(lines(outcome)))
    parts += [Text(f"-  {shown}", style="dim") for shown in missing(outcome)]
    style = "bold red" if outcome.regressed else "bold"
    parts += [Text(summary(outcome), style=style), Text(method(outcome), style="dim")]
    return Group(*parts)


def _table(shown: list[WordedLine]) -> Table:
    several = len({line.vpn for line in shown}) > 1
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("verdict", no_wrap=True)
    for name in (["VPN"] if several else []) + ["cell", "metric"]:
        table.add_column(name, overflow="fold")
    for name in ("A", "B", "change [95 %]"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("note", overflow="fold")
    for line in shown:
        verdict = Text(str(line.verdict), style="dim" if line.control else STYLES[line.verdict])
        note = f"the baseline; {line.note}".rstrip("; ") if line.control else line.note
        texts = [line.vpn] if several else []
        texts += [line.cell, line.metric, line.before, line.after, line.change]
        style = "dim" if line.control else ""
        table.add_row(verdict, *(Text(text, style=style) for text in texts), Text(note, "dim"))
    return table
