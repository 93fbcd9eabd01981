"""``culvert export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import Directory
from culvert.journal.format import Format

app = typer.Typer()


@app.command(epilog="Example: culvert export results/quick --format csv > quick.csv")
def export(
    directory: Directory,
    form: Annotated[Format, typer.Option("--format")] = Format.JSON,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Instead of standard output.")
    ] = None,
) -> None:
    """Print one row per metric of each trial."""
    from culvert.journal.export import export as write
    from culvert.journal.journal import Journal

    with Journal.open(directory) as journal:
        write(journal.rows(), form, file)
