"""``culvert verify``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import Json
from culvert.console import out, print_json

app = typer.Typer()


@app.command(epilog="Example: culvert verify quick.zip")
def verify(
    what: Annotated[
        Path,
        typer.Argument(
            metavar="BUNDLE|DIR", help="A bundle, unpacked or not, or a run's directory."
        ),
    ],
    extract: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Unpack into this directory if verification succeeds."),
    ] = None,
    allowed_signers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Require BUNDLE.sig by a key in FILE (ssh-keygen)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Verify that a bundle or a journal is unchanged."""
    from culvert.bundle.signature import signature_of, signer
    from culvert.bundle.verify import verify as check

    author = signer(what, allowed_signers) if allowed_signers else ""
    found = check(what, extract)
    if as_json:
        print_json({**asdict(found), "ok": not found.problems, "signer": author})
    else:
        for problem in found.problems:
            out.print(f"changed: {problem}", markup=False, style="bold red")
        if not found.problems:
            shown = found.note or f"{found.files} files are unchanged"
            out.print(f"{found.what}: {shown}", markup=False)
        if author:
            out.print(f"signed by {author}", markup=False)
        elif signature_of(what).exists():
            out.print("the signature was not checked: give --allowed-signers FILE", markup=False)
    if found.problems:
        raise typer.Exit(1)
