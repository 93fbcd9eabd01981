"""``culvert run``."""

from __future__ import annotations

from typing import Annotated

import typer

from culvert.commands.labs.options import LabCommand
from culvert.commands.words import Json, NewRun, Only, Scale, StudyName

app = typer.Typer()


@app.command(cls=LabCommand, epilog="Example: culvert run quick --out results/quick")
def run(
    ctx: typer.Context,
    study: StudyName,
    directory: NewRun = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run in DIR.")
    ] = False,
    only: Only = None,
    scale: Scale = "",
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="End after this time in all; --resume continues."),
    ] = None,
    profile: Annotated[
        bool,
        typer.Option(
            "--profile", help="Profile one more trial of each cell with perf; it does not count."
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the cells and the expected duration; measure nothing."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a study: prove, measure and journal every trial."""
    kind = ctx.obj
    if not dry_run:
        kind.begin()  # while the rest is imported
    from culvert.labs.kind import Elsewhere, InNamespaces
    from culvert.machine import rootless
    from culvert.run.request import RunRequest

    request = RunRequest(
        study,
        directory,
        resume=resume,
        lab=kind,
        only=only or (),
        scale=scale,
        budget=budget,
        profile=profile,
    )
    if dry_run:
        if isinstance(kind, InNamespaces):
            rootless.enter_where_possible()  # as the run, which tries features there
        from culvert.commands.actions.dry_run import dry

        dry(request, as_json=as_json)
        return
    if isinstance(kind, Elsewhere) and not kind.is_here():
        raise typer.Exit(request.run_elsewhere(kind, as_json=as_json))
    if isinstance(kind, InNamespaces):
        rootless.enter()  # this program may start again: before the imports that take long
    from culvert.commands.actions.run_study import run_study

    tally = run_study(request, as_json=as_json)
    if tally.exit_code:
        raise typer.Exit(tally.exit_code)
