"""``culvert advise``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import Json

app = typer.Typer()


@app.command(
    epilog="Example: culvert advise results/gateway --rate 1Gbit/s --clients 200",
)
def advise(
    runs: Annotated[
        list[Path], typer.Argument(metavar="DIR", help="Runs of gateway_load or gateway_search.")
    ],
    rate: Annotated[
        str, typer.Option(metavar="RATE", help="Required goodput of all clients together.")
    ],
    clients: Annotated[int, typer.Option(metavar="N", min=1, help="Clients of the gateway.")],
    as_json: Json = False,
) -> None:
    """Show which VPN's gateway carries a required load."""
    from culvert.commands.actions.advise import show_advice

    show_advice(runs, rate, clients, as_json=as_json)
