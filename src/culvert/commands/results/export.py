"""``culvert export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import Directory
from culvert.journal.format import ROWS, Format

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
    """Print the metrics of each trial, or medians for a tracker.

    Formats: rows as json, csv or parquet; medians for Bencher (bencher) and for
    github-action-benchmark (customBiggerIsBetter, customSmallerIsBetter).
    """
    from culvert.journal import export as files

    if form in ROWS:
        from culvert.journal.journal import Journal
        from culvert.report.exported import exported

        with Journal.open(directory) as journal:
            files.export(exported(journal), form, file)
    else:
        from culvert.report.benchmarks import benchmarks, tracked

        files.export_document(tracked(benchmarks(directory), form), file)
