"""``culvert compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from culvert.commands.words import Alpha, Compared, Json, Only, Tolerance
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
            help="Runs to compare: DIR or DIR:VPN. One DIR needs two --vpn; "
            "`--` separates two groups of runs.",
        ),
    ],
    vpn: Annotated[
        list[str] | None,
        typer.Option("--vpn", metavar="VPN", help="VPN of one run to compare; give two."),
    ] = None,
    tolerance: Tolerance = "3%",
    alpha: Alpha = "5%",
    form: Annotated[Form, typer.Option("--format", help="Output format.")] = Form.TEXT,
    file: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Write to this file instead of standard output."
        ),
    ] = None,
    only: Only = None,
    metrics: Compared = None,
    as_json: Json = False,
) -> None:
    """Compare run B with run A: faster, slower, same or cannot tell.

    Exit code 1: something is slower.
    """
    from culvert.commands.actions.compare import run_compare

    if run_compare(
        ["--" if one == _BETWEEN else one for one in runs],
        vpn or [],
        Form.JSON if as_json else form,
        file,
        tolerance=tolerance,
        alpha=alpha,
        only=only or (),
        metrics=metrics,
    ):
        raise typer.Exit(1)
