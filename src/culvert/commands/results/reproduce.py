"""``culvert reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.labs.options import LabCommand
from culvert.commands.words import Json

app = typer.Typer()


@app.command(cls=LabCommand, epilog="Example: culvert reproduce quick.zip --out results/again")
def reproduce(
    ctx: typer.Context,
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle, unpacked or not.")],
    directory: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Directory of the new run; default: a new one in results/."
        ),
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Use this finished run of the study; measure nothing."),
    ] = None,
    tolerance: Annotated[
        str, typer.Option(metavar="SHARE", help="Figures this close count as reproduced.")
    ] = "10%",
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown instead of text.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a bundle's study here, and judge its claims and figures.

    Exit code 1: a claim or a figure is contradicted, or a trial failed.
    """
    from culvert.commands.actions.reproduce import Request
    from culvert.commands.actions.reproduce import reproduce as run

    request = Request(bundle, directory, journal, ctx.obj.words(), tolerance)
    if not run(request, as_json=as_json, as_markdown=markdown):
        raise typer.Exit(1)
