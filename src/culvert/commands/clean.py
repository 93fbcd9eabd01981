"""``culvert clean``."""

from __future__ import annotations

from typing import Annotated

import typer

from culvert.commands.words import Json
from culvert.console import out, print_json
from culvert.errors import NotPossible

app = typer.Typer()


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
