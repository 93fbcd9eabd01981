"""``culvert kubernetes``: the lab Kubernetes and the embedded cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import (
    Context,
    Json,
    Kubeconfig,
    Namespace,
    ProbeImage,
    SourceNode,
    TargetNode,
)
from culvert.console import out, print_json

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Build, prove and prepare Kubernetes clusters.",
)


@app.command("build", epilog="Example: culvert kubernetes build")
def kubernetes_build(
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Number of parallel compilers; default: one per CPU."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Build the programs of the embedded cluster (once)."""
    from culvert.commands.actions.kubernetes import build_programs

    built = build_programs(jobs)
    if as_json:
        print_json(built)
    else:
        out.print("\n".join(f"{name}: {value}" for name, value in built.items()), markup=False)


@app.command("image", epilog="Example: culvert kubernetes image probe.tar")
def kubernetes_image(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Archive to write (OCI).")],
    into_containerd: Annotated[
        bool, typer.Option("--import", help="Import FILE into this machine's containerd (ctr).")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write or import the probe's image.

    Works without a container engine.
    """
    from culvert.commands.actions.kubernetes import make_image

    make_image(path, into_containerd=into_containerd, as_json=as_json)


@app.command("manifest", epilog="Example: culvert kubernetes manifest --prove")
def kubernetes_manifest(
    prove: Annotated[bool, typer.Option("--prove", help="Include the objects of --prove.")] = False,
    namespace: Annotated[
        str, typer.Option(metavar="NAME", help="Namespace of the role for --namespace.")
    ] = "NAMESPACE",
    image: ProbeImage = None,
) -> None:
    """Print the objects and permissions of a run."""
    from culvert.commands.actions.kubernetes import print_manifest
    from culvert.labs.kubernetes.image import PROBE_IMAGE

    print_manifest(image or PROBE_IMAGE, prove=prove, namespace=namespace)


@app.command("check", epilog="Example: culvert kubernetes check --kubeconfig ~/.kube/config")
def kubernetes_check(
    traffic: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="Traffic to prove: two-nodes, service, host-network or one-node; "
            "repeatable, all by default.",
        ),
    ] = None,
    cluster: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Cluster to use: kubeconfig, or embedded (started here)."
        ),
    ] = "kubeconfig",
    vpn: Annotated[
        str, typer.Option(metavar="ID", help="VPN below the embedded cluster.")
    ] = "none",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    namespace: Namespace = None,
    image: ProbeImage = None,
    source: SourceNode = None,
    target: TargetNode = None,
    as_json: Json = False,
) -> None:
    """Prove that all traffic between nodes is encrypted.

    Exit codes: 0 encrypted; 1 clear text found; 2 wrong use; 3 not everything could be captured.
    """
    from culvert.commands.actions.kubernetes import check_cluster
    from culvert.labs.kubernetes.kind import Kubernetes

    lab = Kubernetes(
        {
            "cluster": cluster,
            "kubeconfig": kubeconfig,
            "context": context,
            "namespace": namespace,
            "image": image,
            "from": source,
            "to": target,
            "prove": True,
        }
    )
    if code := check_cluster(lab, vpn, traffic or (), as_json=as_json):
        raise typer.Exit(code)
