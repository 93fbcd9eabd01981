"""``culvert versions``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import (
    BuildCommand,
    GateStudy,
    MeasuredVpn,
    Programs,
    Source,
)
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
        str, typer.Option(metavar="TIME", help="Duration of the measurements.")
    ] = "5min",
    directory: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Directory of the results.")
    ] = None,
    tolerance: Annotated[
        str, typer.Option(metavar="SHARE", help="Differences up to this size count as equal.")
    ] = "3%",
    alpha: Annotated[
        str,
        typer.Option(
            metavar="SHARE", help="Maximum probability of any false alarm in the comparison."
        ),
    ] = "5%",
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Metrics to compare: key (the default), all, or names separated by commas.",
        ),
    ] = None,
    form: Annotated[Form, typer.Option("--format", help="Output format.")] = Form.TEXT,
) -> None:
    """Build two commits of a VPN and measure them in the same blocks.

    Exit code 1: the head is slower, or does not work.
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
        alpha,
        metrics,
    )
    if run_versions(request, form):
        raise typer.Exit(1)
