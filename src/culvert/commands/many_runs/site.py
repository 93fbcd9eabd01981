"""``culvert site``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import Json
from culvert.console import err, out, print_json

app = typer.Typer()


@app.command(epilog="Example: culvert site results bundles --out site")
def site(
    given: Annotated[
        list[Path],
        typer.Argument(metavar="DIR", help="Bundles, and directories with runs or bundles."),
    ],
    target: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Write the site into this directory.")
    ] = Path("site"),
    as_json: Json = False,
) -> None:
    """Write a static site of many runs, with badges and JSON.

    Exit code 1: a run is damaged and left out.
    """
    from culvert.site.build import build
    from culvert.units import plural

    built = build(given, target)
    for one in built.refused:
        err.print(f"left out: {one.what}: {one.why}", markup=False, style="yellow")
    if as_json:
        refused = [{"what": str(one.what), "why": one.why} for one in built.refused]
        print_json({"site": str(built.page), "runs": built.runs, "refused": refused})
    else:
        out.print(f"{plural(built.runs, 'run')}   site: {built.page.absolute()}", markup=False)
    if built.refused:
        raise typer.Exit(1)
