"""``culvert probe``."""

from __future__ import annotations

import typer

from culvert.commands.words import ALL_ARGUMENTS

app = typer.Typer()


@app.command("probe", context_settings=ALL_ARGUMENTS, add_help_option=False)
def probe(ctx: typer.Context) -> None:
    """Run the probe by hand (docs/probe-protocol.md)."""
    from culvert.tools import become

    become(["culvert-probe", *(ctx.args or ["--help"])], "run `make setup`")
