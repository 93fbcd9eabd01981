"""``culvert install``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from culvert.commands.words import Json, known_vpns
from culvert.console import out, print_json

app = typer.Typer()


@app.command(epilog="Example: culvert install wireguard/go")
def install(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="VPN", help="VPNs to install.", autocompletion=known_vpns),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Install every VPN that has a role.")
    ] = False,
    study: Annotated[
        str | None, typer.Option("--study", help="Install the VPNs of this study.", metavar="STUDY")
    ] = None,
    as_json: Json = False,
) -> None:
    """Install VPNs with their Ansible roles."""
    from culvert.commands.actions import install as install_command

    results = install_command.install_named(names or [], every=every, study=study)
    if as_json:
        print_json([asdict(result) for result in results])
    else:
        out.print(install_command.table(results))
    if not all(result.ok for result in results):
        raise typer.Exit(1)
