"""``culvert versions``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import (
    Alpha,
    BuildCommand,
    Compared,
    GateStudy,
    MeasuredVpn,
    Programs,
    Source,
    Tolerance,
)
from culvert.compare.fail_on import FailOn
from culvert.compare.form import Form

app = typer.Typer()


@app.command(
    epilog="Example: culvert versions main HEAD --vpn wireguard/go --build make --budget 5min"
)
def versions(
    base: Annotated[
        str, typer.Argument(metavar="BASE", help="Commit, tag or branch to compare with.")
    ],
    head: Annotated[str, typer.Argument(metavar="HEAD", help="Commit, tag or branch to test.")],
    vpn: MeasuredVpn,
    build: BuildCommand,
    repo: Source = Path(),
    programs: Programs = ".",
    study: GateStudy = "gate",
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="Longest duration of the measurements.")
    ] = "5min",
    directory: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Directory of the results; default: a new one in results/."
        ),
    ] = None,
    tolerance: Tolerance = "3%",
    margin: Annotated[
        str, typer.Option(metavar="SHARE", help="Slowdown that the gate accepts.")
    ] = "0%",
    fail_on: Annotated[FailOn, typer.Option(help="Least favourable answer that fails.")] = (
        FailOn.SLOWER
    ),
    alpha: Alpha = "5%",
    metrics: Compared = None,
    form: Annotated[Form, typer.Option("--format", help="Output format.")] = Form.TEXT,
) -> None:
    """Build two commits of a VPN and measure them in the same blocks.

    Exit code 1: the head is slower, does not work, or cannot be judged (--fail-on).
    """
    from culvert.commands.actions.versions import VersionsRequest, run_versions
    from culvert.versions.builds import Builder
    from culvert.versions.composed import Composed
    from culvert.versions.repository import Repository

    request = VersionsRequest(
        base,
        head,
        Builder(Repository(repo), build, programs),
        Composed(study, vpn),
        budget,
        directory or Path("results") / f"versions-{datetime.now():%Y%m%d-%H%M%S}",
        tolerance,
        margin,
        alpha,
        metrics,
        fail_on,
    )
    if run_versions(request, form):
        raise typer.Exit(1)
