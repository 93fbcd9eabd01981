"""``culvert up``."""

from __future__ import annotations

from typing import Annotated

import typer

from culvert.commands.words import Json, known_vpns

app = typer.Typer()


@app.command(epilog="Example: culvert up wireguard/go")
def up(
    vpn: Annotated[
        str,
        typer.Argument(
            metavar="VPN", help="A VPN, such as wireguard/go.", autocompletion=known_vpns
        ),
    ],
    topology: Annotated[
        str,
        typer.Option(
            metavar="SHAPE", help="Topology: pair, routed, star:5 or mesh:3 (members), or public."
        ),
    ] = "pair",
    as_json: Json = False,
) -> None:
    """Bring one tunnel up and keep it until Ctrl-C."""
    from culvert.commands.actions.keep_up import keep_up

    keep_up(vpn, topology, as_json=as_json)
