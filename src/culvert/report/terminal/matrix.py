"""Matrices of outcomes in the terminal: leaks, and members behind NATs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from culvert.report.views.leaks import Tightness
from culvert.report.views.matrix import Cell, Matrix, Outcome
from culvert.report.views.nat_matrix import NatMatrices, Way

_STYLE: Mapping[StrEnum, str] = {
    Way.DIRECT: "black on bright_blue",
    Way.RELAYED: "black on yellow",
    Way.NO_PATH: "white on red",
    Way.MIXED: "black on magenta",
    Way.NO_RESULT: "dim",
    Tightness.NOTHING: "black on bright_blue",
    Tightness.LEAKS: "white on red",
    Tightness.UNSUPPORTED: "dim",
    Tightness.NO_RESULT: "dim",
}


def leak_table(matrix: Matrix[Tightness]) -> Table:
    """A row for each VPN, a column for each phase; colours are named in the cells too."""
    title = Text.assemble(("Leaks", "bold"), f"  {matrix.title}  {matrix.sentence}")
    return _table(matrix, title, "")


def nat_text(found: NatMatrices) -> RenderableType:
    """A table for each VPN; its colours are named in its cells too."""
    parts: list[RenderableType] = []
    for matrix in found.matrices:
        title = Text.assemble((matrix.title, "bold"), f"  {matrix.sentence}; a behind, b behind")
        parts.append(_table(matrix, title, "a \\ b"))
    if found.missing:
        parts.append(Text("\n".join(("Not measured", *(f"  {one}" for one in found.missing), ""))))
    return Group(*parts)


def _table(matrix: Matrix[Outcome], title: Text, corner: str) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
        title=title,
        title_justify="left",
    )
    table.add_column(corner, no_wrap=True)
    for column in matrix.columns:
        table.add_column(column.replace("-", "-\n"))
    for head, row in zip(matrix.heads, matrix.rows, strict=True):
        table.add_row(Text(head, "bold"), *map(_cell, row))
    return table


def _cell(cell: Cell[Outcome] | None) -> Text:
    if cell is None:
        return Text("")
    lines = (f"\n{one}" for one in cell.lines)
    return Text.assemble((f" {cell.head} ", _STYLE[cell.outcome]), *lines)
