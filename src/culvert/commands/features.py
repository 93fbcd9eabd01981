"""``culvert features``."""

from __future__ import annotations

from typing import Annotated

import typer

from culvert.commands.words import Json
from culvert.console import out, print_json

app = typer.Typer()


@app.command(epilog="Example: culvert features nebula --verify")
def features(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[VPN]...", help="Names or variants.")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run the tests with these VPNs; takes minutes each.")
    ] = False,
    test: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this test; can be repeated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what each VPN can do: verified by a test here, documented, or unknown."""
    from culvert.features import command, show
    from culvert.machine import rootless

    if verify:
        rootless.enter()
        if not command.verify(names or [], test or []):
            raise typer.Exit(3)
    else:
        rootless.enter_where_possible()
    found = command.rows(names or [])
    if as_json:
        print_json(show.as_json(found))
    else:
        out.print(command.shown(found, in_detail=bool(names)))
