"""``culvert wire``."""

from __future__ import annotations

import typer

from culvert.commands.words import ALL_ARGUMENTS

app = typer.Typer()


@app.command("wire", context_settings=ALL_ARGUMENTS, add_help_option=False)
def wire(ctx: typer.Context) -> None:
    """Run an emulated link by hand (docs/conditions.md)."""
    from culvert.tools import become

    become(["culvert-wire", *(ctx.args or ["--help"])], "run `make setup`")
