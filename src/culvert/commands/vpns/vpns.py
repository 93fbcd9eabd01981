"""``culvert vpns``: what there is, a new driver's package, the contract of one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import Json, known_vpns
from culvert.console import out, print_json

app = typer.Typer(help="List VPNs; create and check drivers.")


@app.callback(invoke_without_command=True, epilog="Example: culvert vpns --json")
def vpns(ctx: typer.Context, as_json: Json = False) -> None:
    """List VPNs and their variants: installed or not, and why not."""
    if ctx.invoked_subcommand is not None:
        return
    from culvert.labs.this_machine import ThisMachine
    from culvert.machine import rootless
    from culvert.vpns import listing

    rootless.enter_where_possible()
    rows = listing.list_vpns(ThisMachine())
    if as_json:
        print_json([row.as_json() for row in rows])
    else:
        out.print(listing.table(rows))


@app.command("new", epilog="Example: culvert vpns new myvpn && cd culvert-myvpn")
def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the new VPN: a-z, 0-9 and -.")
    ],
    directory: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Directory to create; default: culvert-NAME."),
    ] = None,
) -> None:
    """Create the package of a new driver."""
    from culvert.vpns.contract.package import install_command, write_package

    target = directory or Path(f"culvert-{name}")
    for path in write_package(name, target):
        out.print(f"  {path}", markup=False)
    out.print(
        f"Next: edit the driver, then\n"
        f"  {install_command(target)}\n"
        f"  culvert vpns check {name}/default",
        markup=False,
        soft_wrap=True,
    )


@app.command("check", epilog="Example: culvert vpns check wireguard/go")
def check(
    vpn: Annotated[
        str,
        typer.Argument(
            metavar="VPN", help="A VPN, such as wireguard/go.", autocompletion=known_vpns
        ),
    ],
    link: Annotated[
        str, typer.Option(metavar="KIND", help="Link below the tunnel: veth, or wire (emulated).")
    ] = "veth",
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print each step, command and log line.")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep logs and files, without secrets.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check a driver against the contract, rule by rule."""
    from culvert.commands.actions.check_driver import check_contract
    from culvert.machine import rootless

    rootless.enter()
    if not check_contract(vpn, link, as_json=as_json, verbose=verbose, keep=keep):
        raise typer.Exit(1)
