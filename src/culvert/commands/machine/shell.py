"""``culvert shell``."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer()


@app.command("shell", epilog="Example: culvert shell -- ip netns list")
def shell(
    argv: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="Command to run instead of $SHELL, after `--`."),
    ] = None,
) -> None:
    """Start a shell that can create network namespaces.

    Without root, the namespaces end with the shell. `culvert wire` connects them.
    """
    import os

    from culvert.machine import rootless
    from culvert.privilege import is_root
    from culvert.tools import become

    if not is_root():
        rootless.enter(own_network=True)
    words = argv or [os.environ.get("SHELL", "/bin/sh")]
    become(words, f"install {words[0]}")
