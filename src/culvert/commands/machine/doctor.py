"""``culvert doctor``."""

from __future__ import annotations

import typer

from culvert.commands.words import Json
from culvert.console import out, print_json

app = typer.Typer()


@app.command(epilog="Example: culvert doctor")
def doctor(as_json: Json = False) -> None:
    """Report what this machine can measure, and what is missing.

    Each missing part has a remedy. Exit code 3: no study can run.
    """
    from culvert.doctor import show
    from culvert.doctor.examine import examine, ready
    from culvert.machine import rootless

    rootless.enter_where_possible()
    checks = examine()
    if as_json:
        print_json(show.as_json(checks))
    else:
        out.print(show.render(checks))
    if not ready(checks):
        raise typer.Exit(3)
