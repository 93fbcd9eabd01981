"""A reproduction for the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from culvert.compare.words import missing
from culvert.reproduce.outcome import ReproduceOutcome, Reproduction
from culvert.reproduce.words import figure_lines, heading, method, summary, warnings

STYLES = {
    Reproduction.REPRODUCED: "green",
    Reproduction.CONTRADICTED: "bold red",
    Reproduction.UNCLEAR: "yellow",
}


def render(outcome: ReproduceOutcome) -> RenderableType:
    """The runs, warnings, claims, figures, what is missing, and the summary."""
    parts: list[RenderableType] = [
        Text.assemble((f"{name}  ", "bold"), shown) for name, shown in heading(outcome)
    ]
    parts += [Text(f"!  {warning}", style="yellow") for warning in warnings(outcome)]
    if outcome.claims:
        parts.append(_claims(outcome))
    if outcome.figures is not None:
        parts.append(_figures(outcome))
        parts += [Text(f"-  {shown}", style="dim") for shown in missing(outcome.figures)]
    style = "bold red" if outcome.contradicted else "bold"
    parts += [Text(summary(outcome), style=style), Text(method(outcome), style="dim")]
    return Group(*parts)


def _claims(outcome: ReproduceOutcome) -> Table:
    table = _table("verdict", "claim", "published", "note")
    for one in outcome.claims:
        texts = (f"{one.before.id}: {one.before.text}", str(one.before.verdict))
        table.add_row(_verdict(one.verdict), *map(Text, texts), Text(one.why, "dim"))
    return table


def _figures(outcome: ReproduceOutcome) -> Table:
    table = _table("verdict", "VPN", "cell", "metric", "published", "here", "change [95 %]", "note")
    for line in figure_lines(outcome):
        verdict = Text("", "dim") if line.control else _verdict(line.verdict)
        texts = (line.vpn, line.cell, line.metric, line.published, line.here, line.change)
        style = "dim" if line.control else ""
        table.add_row(verdict, *(Text(text, style) for text in texts), Text(line.note, "dim"))
    return table


def _table(*names: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for name in names:
        table.add_column(name, overflow="fold", no_wrap=name == "verdict")
    return table


def _verdict(verdict: Reproduction) -> Text:
    return Text(str(verdict), style=STYLES[verdict])
