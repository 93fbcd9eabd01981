"""``culvert run``."""

from __future__ import annotations

from getpass import getpass
from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import (
    AskSudoPassword,
    Context,
    InventoryPath,
    Json,
    KernelPath,
    Kubeconfig,
    Namespace,
    Only,
    ProbeImage,
    Scale,
    SourceNode,
    StudyName,
    TargetNode,
    VehicleName,
)

app = typer.Typer()


@app.command(epilog="Example: culvert run quick --out results/quick")
def run(
    study: StudyName,
    directory: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Directory of the journal.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run in DIR.")
    ] = False,
    lab: Annotated[
        str, typer.Option(help="Where the nodes are: netns, vm, hosts or kubernetes.")
    ] = "netns",
    inventory: InventoryPath = None,
    ask_sudo_password: AskSudoPassword = False,
    allow_impairment: Annotated[
        bool,
        typer.Option("--allow-impairment", help="Permit impairment by the hosts' own netem."),
    ] = False,
    vehicle: VehicleName = None,
    kernel: KernelPath = None,
    cluster: Annotated[
        str, typer.Option(help="Cluster to use: kubeconfig, or embedded (started here).")
    ] = "kubeconfig",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    namespace: Namespace = None,
    image: ProbeImage = None,
    source: SourceNode = None,
    target: TargetNode = None,
    prove: Annotated[
        bool, typer.Option("--prove", help="Capture on the nodes' interfaces (privileged pods).")
    ] = False,
    only: Only = None,
    scale: Scale = "",
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the cells and the expected duration; measure nothing."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a study: prove, measure and journal every trial."""
    if lab == "hosts" and inventory is not None and not dry_run:
        from culvert.labs.hosts import listing

        listing.begin(inventory)  # while the rest is imported
    from culvert.labs.vm.inside import guest
    from culvert.machine import rootless
    from culvert.run.pods.request import IMAGE, ClusterRequest
    from culvert.run.request import CLUSTER, HOSTS, RunRequest

    request = RunRequest(
        study,
        directory,
        resume=resume,
        lab=lab,
        only=only or (),
        scale=scale,
        inventory=inventory,
        sudo_password=getpass("sudo password on the hosts: ") if ask_sudo_password else None,
        allow_impairment=allow_impairment,
        cluster=ClusterRequest(
            cluster, kubeconfig, context, namespace, image or IMAGE, source, target, prove=prove
        ),
    )
    if dry_run:
        from culvert.run.dry import dry

        dry(request, as_json=as_json)
        return
    if lab == "vm" and guest() is None:
        from culvert.run.in_guest import run_in_guest

        raise typer.Exit(run_in_guest(request, as_json=as_json, vehicle=vehicle, kernel=kernel))
    if lab not in (HOSTS, CLUSTER):
        rootless.enter()  # this program may start again: before the imports that take long
    from culvert.run.command import run_study

    tally = run_study(request, as_json=as_json)
    if tally.exit_code:
        raise typer.Exit(tally.exit_code)
