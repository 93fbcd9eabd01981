"""``culvert bundle``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import Directory, Json
from culvert.console import out, print_json

app = typer.Typer()


@app.command(epilog="Example: culvert bundle results/quick --out quick.zip")
def bundle(
    directory: Directory,
    file: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="File to write (.zip); default: a file in this directory, named after the study.",
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option("--sign", metavar="KEY", help="Sign with this SSH key, into FILE.sig."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Pack a run and its evidence into one file.

    `culvert verify` detects any change to it.
    """
    from culvert.bundle.write import bundle as pack

    done = pack(directory, file, key)
    if as_json:
        print_json(asdict(done))
    else:
        out.print(f"{done.path}: {done.files} files, {done.size_bytes} bytes", markup=False)
        out.print(f"SHA-256 {done.sha256}", markup=False)
        if done.signature:
            out.print(f"signed: {done.signature}", markup=False)
