"""All commands together."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from culvert.commands import (
    bundle,
    clean,
    compare,
    doctor,
    export,
    features,
    hosts,
    import_,
    install,
    kubernetes,
    probe,
    repair,
    report,
    run,
    shell,
    study,
    up,
    verify,
    vm,
    vpns,
    wire,
)
from culvert.console import out


class InterruptionError(Exception):
    """Ctrl-C; Typer would end the program without a word."""


class OutputError(Exception):
    """Writing failed; Typer would end the program without a word if it was to a pipe."""


class _Commands(TyperGroup):
    """Keeps from Typer what ``main`` has something to say about."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise InterruptionError from None
        except BrokenPipeError as error:
            raise OutputError from error


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Culvert, a VPN performance laboratory: real VPNs, measured with proof.",
)
_COMMANDS = (
    doctor,
    install,
    features,
    up,
    clean,
    shell,
    wire,
    probe,
    run,
    report,
    compare,
    export,
    import_,
    bundle,
    verify,
    repair,
)
for _command in _COMMANDS:
    app.add_typer(_command.app)
app.add_typer(hosts.app, name="hosts")
app.add_typer(study.app, name="study")
app.add_typer(kubernetes.app, name="kubernetes")
app.add_typer(vm.app, name="vm")
app.add_typer(vpns.app, name="vpns")


def _version(wanted: bool) -> None:
    if wanted:
        from culvert import __version__

        out.print(f"culvert {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version
