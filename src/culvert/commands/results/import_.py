"""``culvert import``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import Json, NewRun
from culvert.journal.readers.formats import ForeignFormat

app = typer.Typer()


@app.command("import", epilog="Example: culvert import knb all-merged.csv --out results/knb")
def import_(
    form: Annotated[
        ForeignFormat,
        typer.Argument(
            metavar="FORMAT", help="Input format: knb, iperf3, hey, ping, flent or vpn-bench."
        ),
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Files or directories.")],
    directory: NewRun = None,
    vpn: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="VPN of all results; or NAME=ID, the VPN of the results that the data calls "
            "NAME (repeatable).",
        ),
    ] = None,
    baseline: Annotated[
        str, typer.Option(metavar="NAME", help="Name in the data of the results without a VPN.")
    ] = "",
    condition: Annotated[
        str,
        typer.Option(metavar="NAME", help="Condition of results for which the data states none."),
    ] = "",
    study: Annotated[
        str,
        typer.Option(metavar="STUDY", help="Judge the claims of this study (file or shipped)."),
    ] = "",
    as_json: Json = False,
) -> None:
    """Import results of knb, iperf3, hey, ping, flent or vpn-bench."""
    from culvert.commands.actions.import_ import show
    from culvert.journal.readers.naming import Naming
    from culvert.run.importing import ImportRequest, checked_condition, import_files

    request = ImportRequest(
        form,
        files,
        directory,
        Naming.parse(vpn or [], baseline),
        checked_condition(condition) if condition else "",
        study,
    )
    done = import_files(request)
    show(done, as_json=as_json)
    if done.exit_code:
        raise typer.Exit(done.exit_code)
