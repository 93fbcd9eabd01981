"""``culvert hosts``: the lab of hosts that SSH reaches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import AskSudoPassword, Json, NewRun, Only, Scale

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Check hosts reached over SSH, and install VPNs on them.",
)


Inventory = Annotated[
    Path,
    typer.Option("--inventory", metavar="FILE", help="Inventory of the hosts (Ansible's format)."),
]


@app.command("check", epilog="Example: culvert hosts check --inventory hosts.yml")
def hosts_check(
    inventory: Inventory,
    links: Annotated[bool, typer.Option(help="Measure the bare links between the hosts.")] = True,
    ask_sudo_password: AskSudoPassword = False,
    as_json: Json = False,
) -> None:
    """Check hosts and the links between them."""
    from culvert.commands.actions.hosts_check import check_hosts
    from culvert.labs.hosts.listed.password import typed

    password = typed(asked=ask_sudo_password)
    if not check_hosts(inventory, sudo_password=password, links=links, as_json=as_json):
        raise typer.Exit(1)


@app.command("install", epilog="Example: culvert hosts install wireguard --inventory hosts.yml")
def hosts_install(
    names: Annotated[list[str], typer.Argument(metavar="VPN", help="VPNs to install.")],
    inventory: Inventory,
    ask_sudo_password: AskSudoPassword = False,
    as_json: Json = False,
) -> None:
    """Install VPNs on all hosts with Ansible.

    Ansible needs Python on the hosts.
    """
    from dataclasses import asdict

    from culvert.console import out, print_json
    from culvert.install.on_hosts import install_on_hosts
    from culvert.labs.hosts.listed.inventory import read_inventory
    from culvert.labs.hosts.listed.password import typed

    password = typed(asked=ask_sudo_password)
    hosts = read_inventory(inventory, sudo_password=password).hosts
    results = install_on_hosts(names, inventory, hosts, password)
    if as_json:
        print_json([asdict(result) for result in results])
    else:
        for result in results:
            changed = sum(host.changed for host in result.hosts)
            done = sum(host.done for host in result.hosts)
            text = f"{result.vpn}: {done} of {len(result.hosts)} hosts, {changed} tasks changed, "
            effort = f"{result.duration_s:.1f} s, {result.playbook_lines} lines of playbook"
            out.print(text + effort, markup=False)
            for failure in result.failures:
                out.print(f"  {failure}", markup=False, style="yellow")
        if not results:
            out.print(f"nothing to install for {', '.join(names)}", markup=False)
    if not all(result.ok for result in results):
        raise typer.Exit(1)


@app.command("demo", epilog="Example: sudo culvert hosts demo")
def hosts_demo(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Study to run.")] = "quick",
    hosts: Annotated[
        int, typer.Option("--hosts", metavar="N", min=2, max=60, help="Number of hosts.")
    ] = 2,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE", help="Rate of the links, such as 1Gbit/s; default: the study's."
        ),
    ] = None,
    directory: NewRun = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the hosts until Ctrl-C, without a study.")
    ] = False,
    only: Only = None,
    scale: Scale = "",
    as_json: Json = False,
) -> None:
    """Run a study on hosts made of namespaces."""
    from culvert.commands.actions.hosts_demo import keep_hosts, run_on_demo
    from culvert.labs.hosts.kind import Hosts
    from culvert.run.request import RunRequest

    if keep:
        keep_hosts(hosts, rate, as_json=as_json)
        return
    lab = Hosts({"inventory": "hosts.yml"})  # of the demo: its inventory is made with it
    request = RunRequest(study, directory, resume=False, lab=lab, only=only or (), scale=scale)
    code = run_on_demo(request, hosts, rate, as_json=as_json)
    if code:
        raise typer.Exit(code)
