"""What a comparison or a reproduction says, for the terminal and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from culvert.console import printable
from culvert.fitting import Fitting

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#!])")
_BREAKS = re.compile(r"[\t-\r\x85\u2028\u2029]+")
_VPN = "VPN"


@dataclass(frozen=True)
class Row:
    """``texts`` follow the verdict, which has the ``style`` in the terminal. ``control`` marks the
    baseline."""

    verdict: str
    style: str
    texts: tuple[str, ...]
    control: bool = False


@dataclass(frozen=True)
class Verdicts:
    """A table; its first column is the verdict, its last one a note. ``align`` has l or r for each
    of ``columns``, which follow the verdict."""

    columns: tuple[str, ...]
    align: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class Sheet:
    """``bad``: something regressed, or is contradicted."""

    summary: str
    bad: bool
    heading: Sequence[tuple[str, str]]
    warnings: Sequence[str]
    tables: Sequence[Verdicts]
    missing: Sequence[str]
    method: str


def render(sheet: Sheet) -> RenderableType:
    """For a rich console: sides, warnings, tables, what is missing, and the summary."""
    parts: list[RenderableType] = [
        Text.assemble((f"{name}  ", "bold"), shown) for name, shown in sheet.heading
    ]
    parts += [Text(f"!  {warning}", style="yellow") for warning in sheet.warnings]
    parts += [Fitting(_table(one)) for one in sheet.tables]
    parts += [Text(f"-  {shown}", style="dim") for shown in sheet.missing]
    style = "bold red" if sheet.bad else "bold"
    return Group(*parts, Text(sheet.summary, style=style), Text(sheet.method, style="dim"))


def _table(found: Verdicts) -> Table:
    """A column of VPNs is left out if there is only one."""
    shown = [
        at
        for at, name in enumerate(found.columns)
        if name != _VPN or len({row.texts[at] for row in found.rows}) > 1
    ]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("verdict", no_wrap=True)
    for at in shown:
        figure = found.align[at] == "r"
        justify: JustifyMethod = "right" if figure else "left"
        table.add_column(found.columns[at], justify=justify, no_wrap=figure, overflow="fold")
    for row in found.rows:
        style = "dim" if row.control else ""
        *texts, note = (row.texts[at] for at in shown)
        table.add_row(
            Text(row.verdict, style=style or row.style),
            *(Text(text, style=style) for text in texts),
            Text(note, "dim"),
        )
    return table


def markdown(sheet: Sheet) -> str:
    """For a pull request or a review."""
    parts = [f"### {_literal(sheet.summary)}", ""]
    parts += [f"- **{name}**: {_literal(shown)}" for name, shown in sheet.heading]
    parts += [f"- **Caution**: {_literal(warning)}" for warning in sheet.warnings]
    for table in sheet.tables:
        ends = ("---:" if align == "r" else "---" for align in table.align)
        parts += ["", _line(("verdict", *table.columns)), _line(("---", *ends))]
        for row in table.rows:
            verdict = row.verdict if row.control else f"**{row.verdict}**"
            parts.append(_line((verdict, *map(_literal, row.texts))))
    if sheet.missing:
        parts += ["", "Not compared:", "", *(f"- {_literal(shown)}" for shown in sheet.missing)]
    return "\n".join([*parts, "", _literal(sheet.method), ""])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _literal(text: str) -> str:
    """Text of studies and imports is shown literally: no markup, no link, one line."""
    return _SPECIAL.sub(r"\\\1", printable(_BREAKS.sub(" ", text)))
