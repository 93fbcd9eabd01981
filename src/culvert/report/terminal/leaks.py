"""The leak matrices in the terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from culvert.report.views.leaks import LeakCell, LeakMatrix, Tightness

_STYLE = {
    Tightness.NOTHING: "black on bright_blue",
    Tightness.LEAKS: "white on red",
    Tightness.UNSUPPORTED: "dim",
    Tightness.NO_RESULT: "dim",
}


def leak_table(matrix: LeakMatrix) -> Table:
    """A row for each VPN, a column for each phase; colours are named in the cells too."""
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
        title=Text.assemble(("Leaks", "bold"), f"  {matrix.title}  {matrix.sentence}"),
        title_justify="left",
    )
    table.add_column("", no_wrap=True)
    for phase in matrix.phases:
        table.add_column(phase)
    for vpn, row in zip(matrix.vpns, matrix.rows, strict=True):
        table.add_row(Text(vpn, "bold"), *map(_cell, row))
    return table


def _cell(cell: LeakCell | None) -> Text:
    if cell is None:
        return Text("")
    lines = (f"\n{one}" for one in cell.lines)
    return Text.assemble((f" {cell.head} ", _STYLE[cell.tightness]), *lines)
