"""``culvert compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from culvert.commands.words import Json, Only
from culvert.compare.form import Form

app = typer.Typer()


class TwoSides(TyperCommand):
    """Keeps the ``--`` that stands between the runs of both sides, which click drops."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words after it are arguments and options, as those before it."""
        return super().parse_args(ctx, [_BETWEEN if one == "--" else one for one in args])


_BETWEEN = "\x1f"


@app.command(
    cls=TwoSides,
    epilog="Example: culvert compare results/before results/after --tolerance 3%; "
    "several runs a side: culvert compare before1 before2 -- after1 after2",
)
def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="A... [--] B...",
            help="DIR or DIR:VPN; one DIR with two --vpn; several runs a side with -- between.",
        ),
    ],
    vpn: Annotated[
        list[str] | None, typer.Option("--vpn", metavar="VPN", help="Two VPNs of one run.")
    ] = None,
    tolerance: Annotated[
        str, typer.Option(metavar="SHARE", help="What is not worth talking about.")
    ] = "3%",
    alpha: Annotated[
        str, typer.Option(metavar="SHARE", help="False alarms in a whole comparison, at most.")
    ] = "5%",
    form: Annotated[Form, typer.Option("--format")] = Form.TEXT,
    file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Instead of standard output.")
    ] = None,
    only: Only = None,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="key (the default), all, or names with commas."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Faster, slower, same or cannot tell, of B against A; exit code 1 if slower."""
    from culvert.compare.command import CompareRequest, run_compare

    request = CompareRequest(
        ["--" if one == _BETWEEN else one for one in runs],
        vpn or [],
        tolerance,
        alpha,
        Form.JSON if as_json else form,
        file,
        only,
        metrics,
    )
    if run_compare(request):
        raise typer.Exit(1)
