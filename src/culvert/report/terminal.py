"""The summary in the terminal: the headline of each condition, and why trials do not count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from culvert.analysis.status import reasons
from culvert.report.model import Data, gather
from culvert.report.run_info import RunInfo
from culvert.report.view import HeadlineView, Trust, headline_views, trust

_MOST_REASONS = 12
_STYLES = {"good": "green", "mixed": "yellow", "none": "red"}
_STATUS = {"ok": "green", "invalid": "yellow", "failed": "red", "unsupported": "dim"}


def summary(
    run: Mapping[str, Any],
    rows: pl.DataFrame,
    trials: pl.DataFrame,
    histograms: pl.DataFrame,
    series: pl.DataFrame,
) -> RenderableType:
    """What ``write_report`` takes, for a rich console. Foreign text is never read as markup."""
    return summary_of(gather(RunInfo.from_journal(run), rows, trials, histograms, series))


def summary_of(data: Data) -> RenderableType:
    """The same for a run that has been analysed."""
    views = headline_views(data)
    parts: list[RenderableType] = [_headline(view, several=len(views) > 1) for view in views]
    if data.counts.ok != data.counts.total:
        parts.append(_reasons(data))
    parts.append(_trust(data, trust(data)))
    return Group(*parts)


def _headline(view: HeadlineView, *, several: bool) -> Table:
    table = Table(
        title=Text(view.condition) if several else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        leading=1,
    )
    table.add_column("VPN", overflow="fold", min_width=12)
    for title, note in view.columns:
        table.add_column(Text.assemble(title, "\n", (note, "dim")), justify="right")
    for row in view.rows:
        name = Text(row.vpn, style="bold")
        if row.version:
            name.append(f"\n{row.version}", style="dim not bold")
        cells = []
        for cell in row.cells:
            if cell is None:
                cells.append(Text("no number", style="dim"))
                continue
            main = (cell.main, "bold green" if cell.best else "bold")
            below = () if row.baseline else (cell.below,)
            lines = [part for part in (cell.interval, *below) if part]
            cells.append(Text.assemble(main, *((f"\n{line}", "dim") for line in lines)))
        table.add_row(name, *cells)
    return table


def _reasons(data: Data) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="Trials that do not count", title_justify="left")
    for name in ("VPN", "status", "trials", "why, and what to do"):
        table.add_column(name)
    found = reasons(data.trials)
    for row in found.head(_MOST_REASONS).iter_rows(named=True):
        why = Text(row["reason"] or "no reason was recorded")
        if row["remedy"]:
            why.append(f"\n{row['remedy']}", style="dim")
        status = Text(str(row["status"]), style=_STATUS.get(row["status"], ""))
        table.add_row(Text(row["vpn"] or ""), status, str(row["trials"]), why)
    if found.height > _MOST_REASONS:
        table.add_row("", "", "", f"... and {found.height - _MOST_REASONS} more, in the report")
    return table


def _trust(data: Data, told: Trust) -> Text:
    counts = data.counts
    return Text.assemble(
        (told.title, _STYLES[told.level]),
        f": {told.detail}\n",
        (
            f"{counts.ok} ok, {counts.invalid} invalid, {counts.failed} failed, "
            f"{counts.unsupported} unsupported. Brackets are 95 % intervals of the median.",
            "dim",
        ),
    )
