"""``culvert bisect``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import BuildCommand, GateStudy, Json, MeasuredVpn, Programs, Source

app = typer.Typer()


@app.command(epilog="Example: culvert bisect v1.0 HEAD --vpn wireguard/go --build make")
def bisect(
    good: Annotated[str, typer.Argument(metavar="GOOD", help="Commit before the change.")],
    bad: Annotated[str, typer.Argument(metavar="BAD", help="Later commit with the change.")],
    vpn: MeasuredVpn,
    build: BuildCommand,
    claim: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help='The figure of the gate ("tcp slower by 5 %"), or a metric: "tcp goodput falls by '
            '5 %".',
        ),
    ] = "tcp slower by 5 %",
    repo: Source = Path(),
    programs: Programs = ".",
    study: GateStudy = "gate",
    directory: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Directory of the rounds, new or to continue; default: a new one in results/.",
        ),
    ] = None,
    alpha: Annotated[
        str, typer.Option(metavar="SHARE", help="Maximum probability of a wrong answer.")
    ] = "5%",
    most: Annotated[
        int, typer.Option("--max-trials", metavar="N", min=8, help="Maximum number of trials.")
    ] = 400,
    as_json: Json = False,
) -> None:
    """Find the commit that changed a figure.

    Exit code 1: no single commit was found.
    """
    from culvert.commands.actions.bisect import run_bisect
    from culvert.versions.builds import Builder
    from culvert.versions.composed import Composed
    from culvert.versions.repository import Repository

    if not run_bisect(
        good,
        bad,
        claim,
        Builder(Repository(repo), build, programs),
        Composed(study, vpn),
        directory or Path("results") / f"bisect-{datetime.now():%Y%m%d-%H%M%S}",
        error=alpha,
        most=most,
        as_json=as_json,
    ):
        raise typer.Exit(1)
