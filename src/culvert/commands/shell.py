"""``culvert shell``."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer()


@app.command("shell", epilog="Example: culvert shell -- ip netns list")
def shell(argv: Annotated[list[str] | None, typer.Argument(metavar="[COMMAND]...")] = None) -> None:
    """A shell that may make network namespaces: root's, or without root one of namespaces of its
    own, which end with it. Cable them with `culvert wire`."""
    import os

    from culvert.become import become_any
    from culvert.machine import rootless

    rootless.enter(own_network=True)
    become_any(argv or [os.environ.get("SHELL", "/bin/sh")])
