"""``culvert doctor``."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from culvert.commands.words import Json
from culvert.console import out, print_json

app = typer.Typer()


@app.command(epilog="Example: culvert doctor")
def doctor(
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Measure known truths, about two minutes; exit code 1: one is missed.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Report what this machine can measure, and what is missing.

    Each missing part has a remedy. Exit code 3: no study can run.
    """
    from culvert.doctor import show
    from culvert.doctor.examine import examine, ready
    from culvert.machine import rootless

    rootless.enter_where_possible()
    checks = examine()
    fit = ready(checks)
    if calibrate and fit:
        _calibrate(as_json=as_json)
        return
    if as_json:
        print_json(show.as_json(checks))
    else:
        out.print(show.render(checks))
    if not fit:
        raise typer.Exit(3)


def _calibrate(*, as_json: bool) -> None:
    from culvert.calibration import show
    from culvert.calibration.rows import passed
    from culvert.commands.actions.calibrate import calibrate

    begun = time.monotonic()
    rows = calibrate(as_json=as_json)
    seconds = time.monotonic() - begun
    if as_json:
        print_json(show.as_json(rows, seconds))
    else:
        out.print(show.render(rows, seconds, out.width))
    if not passed(rows):
        raise typer.Exit(1)
