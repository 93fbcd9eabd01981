"""Tables that a narrow terminal does not make unreadable."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

_ANY = 10_000
"""Columns: as many as a table may need."""


class Fitting:
    """A table; a paragraph for each row where the console is too narrow for the table's words."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = self._table.columns
        wide = options.update(max_width=_ANY)
        if console.measure(self._table, options=wide).minimum <= options.max_width:
            yield self._table
            return
        for row in zip(*(column.cells for column in columns), strict=True):
            yield Text("; ").join(
                Text.assemble(f"{column.header}: ", text)
                for column, cell in zip(columns, row, strict=True)
                if (text := cell if isinstance(cell, Text) else Text(str(cell)))
            )
