"""``culvert up``."""

from __future__ import annotations

from typing import Annotated

import typer

from culvert.commands.words import Json

app = typer.Typer()


@app.command(epilog="Example: culvert up wireguard/go")
def up(
    vpn: Annotated[str, typer.Argument(metavar="VPN")],
    topology: Annotated[
        str, typer.Option(help="pair, routed, star:5 (clients) or mesh:3 (members).")
    ] = "pair",
    as_json: Json = False,
) -> None:
    """Bring one tunnel up and keep it, to try things by hand; Ctrl-C removes it."""
    from culvert.run.up import keep_up

    keep_up(vpn, topology, as_json=as_json)
