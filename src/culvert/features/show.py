"""The framework for the terminal, for JSON, and for the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from culvert.features.criteria import MEANINGS, Criterion
from culvert.features.framework import Row
from culvert.features.known import Answer, Cell, Standing

DIFFERS = "\u2260"
_MARK = {Answer.YES: "\u2713", Answer.NO: "\u2717"}
_LETTER = {Standing.VERIFIED: "v", Standing.DOCUMENTED: "d"}
_STYLE = {
    (Standing.VERIFIED, Answer.YES): "bold green",
    (Standing.VERIFIED, Answer.NO): "bold red",
    (Standing.DOCUMENTED, Answer.YES): "green",
    (Standing.DOCUMENTED, Answer.NO): "red",
}
LEGEND = (
    "\u2713 holds, \u2717 does not; v verified by a test on this machine with the installed "
    "version, d documented, ? unknown; \u2260 differs from the paper's table (kjorveziroski2024, "
    "table 1), whose row is below ours."
)


def overview(rows: Sequence[Row]) -> RenderableType:
    """One line for each VPN, and below it the paper's."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("VPN", no_wrap=True)
    for criterion in Criterion:
        table.add_column(MEANINGS[criterion].head, justify="center")
    for row in rows:
        table.add_row(Text(row.name, "bold"), *(_short(row, one) for one in Criterion))
        if row.paper is not None:
            marks = (_MARK[row.paper[one]] if one in row.paper else "" for one in Criterion)
            table.add_row(Text("  paper", "dim"), *(Text(mark, "dim") for mark in marks))
    note = "Sources of a VPN's cells: culvert features VPN. To run the tests: add --verify."
    return Group(table, Text(LEGEND, "dim"), Text(note, "dim"))


def mark(cell: Cell) -> str:
    """The answer and what it rests on, in two characters; ? if unknown."""
    return "?" if cell.answer is None else _MARK[cell.answer] + _LETTER[cell.standing]


def _short(row: Row, criterion: Criterion) -> Text:
    cell = row.cells[criterion]
    style = "dim" if cell.answer is None else _STYLE[cell.standing, cell.answer]
    return Text(mark(cell) + (DIFFERS if row.differs(criterion) else ""), style)


def details(row: Row) -> Table:
    """Every cell of a VPN with its source."""
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, title=row.title, title_justify="left", leading=0
    )
    for column in ("criterion", "", "paper", "source, note"):
        table.add_column(column, overflow="fold")
    for criterion in Criterion:
        cell = row.cells[criterion]
        table.add_row(
            str(criterion),
            _short(row, criterion),
            Text(row.published(criterion) or "", "dim"),
            Text("; ".join(filter(None, (cell.source, cell.note)))),
        )
    return table


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """For ``--json``."""
    return [
        {
            "vpn": row.name,
            "title": row.title,
            "cells": {
                str(criterion): {
                    "standing": cell.standing,
                    "answer": cell.answer,
                    "source": cell.source,
                    "note": cell.note,
                    "paper": row.published(criterion),
                    "differs": row.differs(criterion),
                }
                for criterion, cell in row.cells.items()
            },
        }
        for row in rows
    ]
