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
    form: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.JSON,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", metavar="FILE", help="Write to this file instead of standard output."
        ),
    ] = None,
) -> None:
    """Print the metrics of each trial as JSON, CSV or Parquet."""
    from culvert.journal.export import export as write
    from culvert.journal.journal import Journal
    from culvert.report.exported import exported

    with Journal.open(directory) as journal:
        write(exported(journal), form, file)
