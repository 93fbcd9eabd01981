"""``culvert features``."""

from __future__ import annotations

from typing import Annotated

import typer

from culvert.commands.words import Json, known_vpns
from culvert.console import out, print_json

app = typer.Typer()


@app.command(epilog="Example: culvert features nebula --verify")
def features(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="VPN",
            help="VPNs or variants; all if none is given.",
            autocompletion=known_vpns,
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Test these VPNs now (minutes per VPN).")
    ] = False,
    test: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Run only this test (repeatable).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the features of each VPN: verified, documented, unknown."""
    from culvert.commands.actions import features as command
    from culvert.features import show
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
