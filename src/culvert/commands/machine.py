"""What this machine has and can do."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from culvert.commands.words import Json
from culvert.console import out, print_json
from culvert.errors import NotPossible

app = typer.Typer()


@app.command(epilog="Example: culvert doctor")
def doctor(as_json: Json = False) -> None:
    """Tell what this machine can do, what it can't, and the remedy for each."""
    from culvert.doctor import examine, ready, show
    from culvert.machine import rootless

    rootless.enter_where_possible()
    checks = examine()
    if as_json:
        print_json(json.loads(show.to_json(checks)))
    else:
        out.print(show.render(checks))
    if not ready(checks):
        raise typer.Exit(3)


@app.command(epilog="Example: culvert install wireguard/go")
def install(
    names: Annotated[list[str] | None, typer.Argument(metavar="[VPN]...")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every VPN that can be installed.")] = False,
    study: Annotated[
        str | None, typer.Option("--study", help="The VPNs of this study.", metavar="STUDY")
    ] = None,
    as_json: Json = False,
) -> None:
    """Install VPNs with their Ansible roles, and say how long it took."""
    from culvert.install import command as install_command

    results = install_command.install_named(names or [], every=every, study=study)
    if as_json:
        print_json([asdict(result) for result in results])
    else:
        out.print(install_command.table(results))
    if not all(result.ok for result in results):
        raise typer.Exit(1)


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


@app.command(epilog="Example: sudo culvert clean")
def clean(
    every: Annotated[bool, typer.Option("--all", help="Also runs that still go on.")] = False,
    as_json: Json = False,
) -> None:
    """Remove what an interrupted run left behind."""
    from culvert.labs.netns.cleanup import left_by_root, remove_leftovers
    from culvert.privilege import is_root

    if not is_root() and (names := left_by_root()):
        raise NotPossible(
            "culvert clean",
            f"only root removes what root's runs left behind: {', '.join(names[:3])}",
            "run it with sudo",
        )
    # Without root nothing is left: it ends with the processes of the run.
    removed = remove_leftovers(all_runs=every) if is_root() else []
    if as_json:
        print_json([{"kind": str(one.kind), "name": one.name} for one in removed])
        return
    for one in removed:
        out.print(f"removed {one.kind} {one.name}", markup=False)
    if not removed:
        out.print("nothing was left behind")
