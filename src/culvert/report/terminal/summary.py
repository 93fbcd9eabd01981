"""The summary in the terminal: the headline of each condition, and why trials do not count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from culvert.analysis.status import reasons
from culvert.report.model import Data
from culvert.report.terminal.claims import claims_text
from culvert.report.terminal.matrix import matrices_text
from culvert.report.views.conclusion import behaviour_sentences, conclusion
from culvert.report.views.headline import HeadlineCell, HeadlineRow, HeadlineView, headline_views
from culvert.report.views.leaks import leak_matrices
from culvert.report.views.nat_matrix import nat_matrices
from culvert.report.views.surroundings import surroundings_table
from culvert.report.views.trust import Trust, limits, trust
from culvert.study.vpn_id import BASELINE

_GAP = 2
"""Characters between two columns of a table: a cell's padding and the box's divider."""
_MOST_REASONS = 12
_STYLES = {"good": "green", "mixed": "yellow", "none": "red"}
_STATUS = {"ok": "green", "invalid": "yellow", "failed": "red", "unsupported": "dim"}


def summary_of(data: Data) -> RenderableType:
    """For a rich console. Data is never read as markup."""
    views, leaks = headline_views(data), leak_matrices(data)
    found = conclusion(data, leaks, claims=False)
    parts: list[RenderableType] = [Text(f"{part}\n") for part in found]
    parts += [_Headline(view, several=len(views) > 1) for view in views if view.columns]
    parts += [matrices_text(every) for every in (nat_matrices(data), leaks)]
    if data.claims.judged or data.claims.trouble:
        parts.append(claims_text(data.claims, data.labels))
    if data.counts.ok != data.counts.total:
        parts.append(_reasons(data))
    if marked := surroundings_table(data, compared=True).rows:
        parts.append(_disturbed(marked))
    sentences = behaviour_sentences(data)
    if sentences:
        parts.append(_behaviour(sentences))
    parts.append(_trust(data, trust(data), columns=any(view.columns for view in views)))
    return Group(*parts)


class _Headline:
    """One condition: a table if the console is wide enough, else a paragraph per VPN."""

    def __init__(self, view: HeadlineView, *, several: bool) -> None:
        self._view = view
        self._title = Text(view.condition, style="bold") if several else None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Chooses the layout when the width is known, so that no name or number is split."""
        del console
        if self._title:
            yield self._title
        for broken in (False, True):
            widths = self._widths(broken_headings=broken)
            if sum(widths) + (len(widths) - 1) * _GAP <= options.max_width:
                yield self._table(widths)
                break
        else:
            yield self._paragraphs()

    def _widths(self, *, broken_headings: bool) -> list[int]:
        """The width of each column: that of its longest line, or line or word of its heading."""
        first = [line for row in self._view.rows for line in (row.vpn, row.version)]
        columns = [first]
        for index, (title, note) in enumerate(self._view.columns):
            cells = [row.cells[index] for row in self._view.rows]
            lines = [line for cell in cells for line in _lines(cell)]
            heading = [*title.split(" "), *note.split(" ")] if broken_headings else [title, note]
            columns.append([*lines, *heading])
        return [max([cell_len(text) for text in column] or [0]) for column in columns]

    def _table(self, widths: Sequence[int]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, leading=1, padding=(0, 1, 0, 0), show_edge=False)
        table.add_column("VPN", width=widths[0])
        for (title, note), width in zip(self._view.columns, widths[1:], strict=True):
            heading = Text.assemble(title, "\n", (note, "dim"))
            table.add_column(heading, justify="right", width=width)
        for row in self._view.rows:
            name = Text(row.vpn, style="bold", no_wrap=True)
            if row.version:
                name.append(f"\n{row.version}", style="dim not bold")
            table.add_row(name, *(_cell(cell, row) for cell in row.cells))
        return table

    def _paragraphs(self) -> RenderableType:
        parts: list[RenderableType] = []
        for row in self._view.rows:
            version = (f"  {row.version}", "dim") if row.version else ""
            parts += [Text(""), Text.assemble((row.vpn, "bold"), version)]
            if not any(row.cells):
                parts.append(Text("  no trial that counts", style="dim"))
                continue
            grid = Table.grid(padding=(0, _GAP, 0, 0))
            for (title, _), cell in zip(self._view.columns, row.cells, strict=True):
                if cell is None:
                    grid.add_row(f"  {title}", Text("no number", style="dim"), "")
                    continue
                figure = Text.assemble((cell.main, _style(cell)), (f" {cell.interval}", "dim"))
                below = "" if row.baseline else str(cell.below)
                grid.add_row(f"  {title}", figure, Text(below, style="dim"))
            parts.append(grid)
        return Group(*parts, Text(""))


def _lines(cell: HeadlineCell | None) -> list[str]:
    if cell is None:
        return ["no number"]
    return [cell.main, cell.interval, cell.below.main, cell.below.interval, cell.rank]


def _cell(cell: HeadlineCell | None, row: HeadlineRow) -> Text:
    if cell is None:
        return Text("no number", style="dim")
    _, *lines = _lines(cell) if not row.baseline else (cell.main, cell.interval)
    return Text.assemble(
        (cell.main, _style(cell)), *((f"\n{line}", "dim") for line in lines if line)
    )


def _style(cell: HeadlineCell) -> str:
    return "bold green" if cell.badge else "bold"


def _listed(title: str, columns: Sequence[str], rows: Iterable[Sequence[Text]], most: int) -> Table:
    """At most ``most`` rows, and how many more there are."""
    table = Table(*columns, box=box.SIMPLE_HEAD, title=title, title_justify="left")
    every = list(rows)
    for row in every[:most]:
        table.add_row(*row)
    if len(every) > most:
        table.add_row(f"... and {len(every) - most} more, in the report")
    return table


def _reasons(data: Data) -> Table:
    return _listed(
        "Trials that do not count",
        ("VPN", "status", "trials", "reason and remedy"),
        (_reason(row) for row in reasons(data.trials).iter_rows(named=True)),
        _MOST_REASONS,
    )


def _reason(row: Mapping[str, Any]) -> Sequence[Text]:
    such = "such as: " if row["wordings"] > 1 else ""
    why = Text(such + (row["reason"] or "no reason was recorded"))
    if row["remedy"]:
        why.append(f"\n{row['remedy']}", style="dim")
    status = Text(str(row["status"]), style=_STATUS.get(row["status"], ""))
    return Text(row["vpn"]), status, Text(str(row["trials"])), why


def _disturbed(rows: Sequence[tuple[str, ...]]) -> Table:
    """The rows of ``surroundings_table``."""
    return _listed(
        "Disturbed trials",
        ("VPN, cell", "median of all", "without the disturbed", "disturbed by"),
        (
            (
                Text.assemble((vpn, "bold"), f"\n{cell}: {metric}"),
                *(Text(whole), Text(quiet), Text(f"{count}: {names}")),
            )
            for vpn, cell, metric, whole, quiet, count, names in rows
        ),
        _MOST_REASONS,
    )


def _behaviour(sentences: Sequence[str]) -> Text:
    note = Text("Intervals of these cells may be too narrow\n", style="yellow")
    for sentence in sentences[:_MOST_REASONS]:
        note.append(f"  {sentence}\n", style="default")
    if len(sentences) > _MOST_REASONS:
        note.append(f"  ... and {len(sentences) - _MOST_REASONS} more, in the report\n", "dim")
    return note


def _trust(data: Data, note: Trust, *, columns: bool) -> Text:
    counts = data.counts
    where = "in the same blocks" if data.run.design.paired else "in runs of another time"
    figures = (
        f" In the columns, brackets are 95 % intervals; below each median is how it relates to "
        f"{BASELINE} {where}."
    )
    return Text.assemble(
        (note.title, _STYLES[note.level]),
        f": {note.detail}\n",
        ("What limits trust here", "yellow"),
        f": {'; '.join(limits(data))}\n",
        (
            f"{counts.ok} ok, {counts.invalid} invalid, {counts.failed} failed, "
            f"{counts.unsupported} unsupported.{figures if columns else ''}",
            "dim",
        ),
    )
