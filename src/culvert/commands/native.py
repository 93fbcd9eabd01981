"""The native programs by hand; they read their arguments themselves."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer()
ALL_ARGUMENTS = {"allow_extra_args": True, "ignore_unknown_options": True}


@app.command("shell", epilog="Example: culvert shell -- ip netns list")
def shell(argv: Annotated[list[str] | None, typer.Argument(metavar="[COMMAND]...")] = None) -> None:
    """A shell that may make network namespaces: root's, or without root one of namespaces of its
    own, which end with it. Cable them with `culvert wire`."""
    import os

    from culvert.become import become_any
    from culvert.machine import rootless

    rootless.enter(own_network=True)
    become_any(argv or [os.environ.get("SHELL", "/bin/sh")])


@app.command("wire", context_settings=ALL_ARGUMENTS, add_help_option=False)
def wire(ctx: typer.Context) -> None:
    """The emulated link by hand, with live statistics; see docs/conditions.md."""
    from culvert.become import become

    become("culvert-wire", ctx.args)


@app.command("probe", context_settings=ALL_ARGUMENTS, add_help_option=False)
def probe(ctx: typer.Context) -> None:
    """Measure by hand: packets, streams, round trips; see docs/probe-protocol.md."""
    from culvert.become import become

    become("culvert-probe", ctx.args)
