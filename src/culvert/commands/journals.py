"""Journals: in, out, packed, checked, mended."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import Directory, Json
from culvert.console import out, print_json
from culvert.journal.format import Format
from culvert.journal.readers.formats import ForeignFormat

app = typer.Typer()


@app.command(epilog="Example: culvert export results/quick --format csv > quick.csv")
def export(
    directory: Directory,
    form: Annotated[Format, typer.Option("--format")] = Format.JSON,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Instead of standard output.")
    ] = None,
) -> None:
    """Print one row per metric of each trial."""
    from culvert.journal.export import export as write
    from culvert.journal.journal import Journal

    with Journal.open(directory) as journal:
        write(journal.rows(), form, file)


@app.command("import", epilog="Example: culvert import knb all-merged.csv --out results/knb")
def import_(
    form: Annotated[
        ForeignFormat, typer.Argument(metavar="FORMAT", help="Whose results they are.")
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files or directories.")],
    directory: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where the journal goes.")
    ] = None,
    vpn: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="The VPN of all runs, or NAME=ID for a name of the data."),
    ] = None,
    baseline: Annotated[
        str, typer.Option(metavar="NAME", help="The name of the runs without a VPN.")
    ] = "",
    condition: Annotated[
        str, typer.Option(metavar="NAME", help="The condition, where the data does not say.")
    ] = "",
    study: Annotated[
        str,
        typer.Option(metavar="STUDY", help="Judge its claims: a TOML file or a shipped study."),
    ] = "",
    as_json: Json = False,
) -> None:
    """Read what other tools measured into a journal: knb, iperf3, hey, ping, flent."""
    from culvert.journal.readers.naming import Naming
    from culvert.run import importing as command

    request = command.ImportRequest(
        form,
        files,
        directory,
        Naming.parse(vpn or [], baseline),
        command.checked_condition(condition) if condition else "",
        study,
    )
    done = command.import_files(request)
    command.show(done, as_json=as_json)
    if done.exit_code:
        raise typer.Exit(done.exit_code)


@app.command(epilog="Example: culvert bundle results/quick --out quick.tar.gz")
def bundle(
    directory: Directory,
    file: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Ends in .tar.gz or .tar.zst."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Pack a run with all its evidence into one file that shows any change."""
    from culvert.bundle.command import bundle as pack

    done = pack(directory, file)
    if as_json:
        print_json(asdict(done))
    else:
        out.print(f"{done.path}: {done.files} files, {done.size_bytes} bytes", markup=False)
        out.print(f"SHA-256 {done.sha256}", markup=False)


@app.command(epilog="Example: culvert verify quick.tar.gz")
def verify(
    what: Annotated[Path, typer.Argument(metavar="BUNDLE|DIR")],
    extract: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Unpack it there if it is as it was.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Tell whether a bundle, unpacked or not, or a journal is as it was written."""
    from culvert.bundle.command import verify as check

    found = check(what, extract)
    if as_json:
        print_json({**asdict(found), "ok": not found.problems})
    else:
        for problem in found.problems:
            out.print(f"changed: {problem}", markup=False, style="bold red")
        if not found.problems:
            told = found.note or f"{found.files} files as they were"
            out.print(f"{found.what}: {told}", markup=False)
    if found.problems:
        raise typer.Exit(1)


@app.command(epilog="Example: culvert repair results/quick")
def repair(directory: Directory, as_json: Json = False) -> None:
    """Save what can be read of a damaged journal; the damaged file is kept."""
    from culvert.journal.repair import repair as save

    found = save(directory)
    if as_json:
        aside = None if found.aside is None else str(found.aside)
        print_json({"kept": found.kept, "lost": found.lost, "damaged": aside})
        return
    if found.aside is None:
        out.print(f"nothing to repair: all {found.kept} trials are as they were written")
        return
    for number, why in found.lost.items():
        out.print(f"lost: trial {number}: {why}", markup=False, style="yellow")
    out.print(f"{found.kept} trials saved, {len(found.lost)} lost")
    out.print(f"the damaged file: {found.aside}", markup=False, soft_wrap=True)
