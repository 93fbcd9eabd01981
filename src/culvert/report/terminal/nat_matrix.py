"""The NAT matrices in the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from culvert.report.views.nat_matrix import MatrixCell, NatMatrices, NatMatrix, Way

_STYLE = {
    Way.DIRECT: "black on bright_blue",
    Way.RELAYED: "black on yellow",
    Way.NO_PATH: "white on red",
    Way.MIXED: "black on magenta",
    Way.NO_RESULT: "dim",
}


def nat_text(found: NatMatrices) -> RenderableType:
    """A table for each VPN; its colours are named in its cells too."""
    parts: list[RenderableType] = [_table(matrix) for matrix in found.matrices]
    if found.missing:
        parts.append(Text("\n".join(("Not measured", *(f"  {one}" for one in found.missing), ""))))
    return Group(*parts)


def _table(matrix: NatMatrix) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
        title=Text.assemble((matrix.vpn, "bold"), f"  {matrix.sentence}; a behind, b behind"),
        title_justify="left",
    )
    table.add_column("a \\ b", no_wrap=True)
    for kind in matrix.kinds:
        table.add_column(kind.replace("-", "-\n"), justify="center")
    for kind, row in zip(matrix.kinds, matrix.rows, strict=True):
        table.add_row(Text(kind, "bold"), *map(_cell, row))
    return table


def _cell(cell: MatrixCell | None) -> Text:
    if cell is None:
        return Text("")
    return Text.assemble((f" {cell.head} ", _STYLE[cell.way]), *(f"\n{one}" for one in cell.lines))
