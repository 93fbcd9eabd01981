"""``culvert report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import Directory, Json
from culvert.console import out, print_json

app = typer.Typer()


@app.command(epilog="Example: culvert report results/quick")
def report(
    directory: Directory,
    target: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write into this directory instead."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write report.html, tables and figures of a run."""
    from culvert.report import claims
    from culvert.report.html.write import write_data
    from culvert.report.model import read
    from culvert.report.terminal.summary import summary_of

    data = read(directory)
    page = write_data(data, target or directory)
    if as_json:
        print_json({"report": str(page), **claims.as_json(data.claims)})
    else:
        out.print(summary_of(data))
        out.print(f"report: {page.absolute()}", markup=False)
