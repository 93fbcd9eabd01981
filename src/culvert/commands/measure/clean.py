"""``culvert clean``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import Context, Json
from culvert.console import out, print_json
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
        typer.Option(
            metavar="NAME", help="Namespace of the cluster in which the runs were; default: all."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Remove what interrupted runs left behind."""
    from culvert.labs.namespace.cleanup import active, find_leftovers, remove
    from culvert.privilege import is_root, with_sudo

    leftovers = find_leftovers()
    if not is_root() and (runs := [one.name for one in leftovers if one.kind == "run"]):
        raise NotPossible(
            "culvert clean",
            f"only root removes what root's runs left behind: {', '.join(runs[:3])}",
            with_sudo("clean"),
        )
    if every and is_root():
        leftovers = [*active(), *leftovers]
    for one in leftovers:
        remove(one)
    found = [(str(one.kind), one.name) for one in leftovers]
    if kubeconfig is not None or context is not None:
        found += _in_cluster(kubeconfig, context, namespace, every=every)
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
    # Who may not look finds nothing.
    if namespace is None:
        api.call("the namespaces", api.core.list_namespace, limit=1)
    else:
        what, maps = f"the objects of namespace {namespace}", api.core.list_namespaced_config_map
        api.call(what, maps, namespace, limit=1)
    return [("object of the cluster", name) for name in remove_lost(api, namespace, every=every)]
