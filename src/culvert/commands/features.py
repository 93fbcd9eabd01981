"""``culvert features``."""

from __future__ import annotations

from typing import Annotated

import typer

from culvert.commands.words import Json
from culvert.console import out, print_json

app = typer.Typer()


@app.command(epilog="Example: culvert features nebula")
def features(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[VPN]...", help="Names or variants.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what each VPN can do: verified by a test here, documented, or unknown."""
    from culvert.features import command, show
    from culvert.machine import rootless

    rootless.enter_where_possible()
    found = command.rows(names or [])
    if as_json:
        print_json(show.as_json(found))
    else:
        out.print(command.shown(found, in_detail=bool(names)))
