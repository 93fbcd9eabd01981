"""Matrices of outcomes in the terminal; colours are named in the cells too."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from culvert.report.views.leaks import Tightness
from culvert.report.views.matrix import Cell, Matrices, Matrix
from culvert.report.views.nat_matrix import Way

_STYLE: Mapping[str, str] = {
    Way.DIRECT: "black on bright_blue",
    Way.RELAYED: "black on yellow",
    Way.NO_PATH: "white on red",
    Way.MIXED: "black on magenta",
    Way.NO_RESULT: "dim",
    Tightness.NOTHING: "black on bright_blue",
    Tightness.LEAKS: "white on red",
    Tightness.UNSUPPORTED: "dim",
}


def matrices_text(found: Matrices) -> RenderableType:
    """A table for each matrix, and what was not measured."""
    parts: list[RenderableType] = [_table(found, matrix) for matrix in found.matrices]
    if found.missing:
        parts.append(Text("\n".join(("Not measured", *(f"  {one}" for one in found.missing), ""))))
    return Group(*parts)


def _table(found: Matrices, matrix: Matrix) -> Table:
    sentence = "; ".join(filter(None, (matrix.sentence, found.axes)))
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
        title=Text.assemble((f"{found.name}  {matrix.title}".rstrip(), "bold"), f"  {sentence}"),
        title_justify="left",
    )
    table.add_column(found.corner, no_wrap=True)
    for column in matrix.columns:
        table.add_column(column.replace("-", "-\n"))
    for head, row in zip(matrix.heads, matrix.rows, strict=True):
        table.add_row(Text(head, "bold"), *map(_cell, row))
    return table


def _cell(cell: Cell | None) -> Text:
    if cell is None:
        return Text("")
    lines = (f"\n{one}" for one in cell.lines)
    return Text.assemble((cell.head, _STYLE[cell.outcome]), *lines)
