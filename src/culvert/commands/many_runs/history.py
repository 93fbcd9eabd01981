"""``culvert history``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import Json, Only
from culvert.console import err, out, print_json
from culvert.history.order import Order

app = typer.Typer()


@app.command(epilog="Example: culvert history results --study quick")
def history(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="DIR", help="Directories with runs in or below them."),
    ],
    study: Annotated[
        str | None, typer.Option(metavar="NAME", help="Include only runs of this study.")
    ] = None,
    by: Annotated[
        Order, typer.Option("--by", help="Order of the runs: time, or version of the VPN.")
    ] = Order.TIME,
    only: Only = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Metrics to show: key (the default), all, or names separated by commas.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show when the figures of many runs changed, and possible causes.

    Exit code 1: a journal cannot be read.
    """
    from culvert.commands.actions.compare import metrics_of
    from culvert.history.document import document
    from culvert.history.outcome import history as history_of
    from culvert.history.terminal import render

    found = history_of(
        directories, study=study, metrics=metrics_of(metrics), only=only or (), order=by
    )
    if as_json:
        print_json(document(found))
    else:
        out.print(render(found))
    for one in found.unread:
        err.print(f"left out: {one.what}: {one.why}", markup=False, style="yellow")
    if found.unread:
        raise typer.Exit(1)
