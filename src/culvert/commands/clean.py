"""``culvert clean``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import Context, Json
from culvert.console import err, out, print_json
from culvert.errors import NotPossible

app = typer.Typer()


@app.command(epilog="Example: sudo culvert clean")
def clean(
    every: Annotated[bool, typer.Option("--all", help="Include active runs.")] = False,
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Include the cluster of this kubeconfig.")
    ] = None,
    context: Context = None,
    namespace: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Namespace that the runs used, if not their own."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Remove what interrupted runs left behind."""
    from culvert.labs.namespace.cleanup import left_by_root, remove_leftovers, unproved
    from culvert.privilege import is_root

    if not is_root() and (names := left_by_root()):
        raise NotPossible(
            "culvert clean",
            f"only root removes what root's runs left behind: {', '.join(names[:3])}",
            "run it with sudo",
        )
    # Without root nothing is left: it ends with the processes of the run.
    removed = remove_leftovers(all_runs=every) if is_root() else []
    found = [(str(one.kind), one.name) for one in removed]
    if kubeconfig is not None or context is not None:
        found += _in_cluster(kubeconfig, context, namespace, every=every)
    for name in unproved() if is_root() else ():
        err.print(
            f"left namespace {name}: its name is like those of runs, but nothing proves that a run "
            f"made it. If no program uses it: ip netns delete {name}",
            markup=False,
        )
    if as_json:
        print_json([{"kind": kind, "name": name} for kind, name in found])
        return
    for kind, name in found:
        out.print(f"removed {kind} {name}", markup=False)
    if not found:
        out.print("nothing was left behind")


def _in_cluster(
    kubeconfig: Path | None, context: str | None, namespace: str | None, *, every: bool
) -> list[tuple[str, str]]:
    from culvert.labs.kubernetes.api.client import Api
    from culvert.labs.kubernetes.pods.lost import remove_lost

    api = Api.of(kubeconfig, context)
    return [("object of the cluster", name) for name in remove_lost(api, namespace, every=every)]
