"""The command line: one thin function per command."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from culvert import __version__
from culvert.errors import CulvertError
from culvert.journal.export import Format

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Culvert, a VPN performance laboratory: real VPNs, measured with proof.",
)
PIPE_WIDTH = 160
"""Columns where no terminal says how many it has."""

out = Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)
err = Console(stderr=True, highlight=False, soft_wrap=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def main() -> None:
    """Entry point of the ``culvert`` command: errors in a few lines, and their exit codes."""
    try:
        app()
    except CulvertError as error:
        err.print(f"error: {error}", markup=False, style="bold red")
        err.print(f"remedy: {error.remedy}", markup=False)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        err.print("interrupted; everything that was set up is removed", style="yellow")
        sys.exit(130)
    except BrokenPipeError:
        sys.stdout = None  # nobody reads any more
        sys.exit(0)


def _print_json(value: Any) -> None:
    out.file.write(json.dumps(value, indent=2, default=str, ensure_ascii=False) + "\n")


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"culvert {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


@app.command(epilog="Example: culvert doctor")
def doctor(as_json: Json = False) -> None:
    """Tell what this machine can do, what it can't, and the remedy for each."""
    from culvert.doctor import examine, ready, show

    checks = examine()
    if as_json:
        out.file.write(show.to_json(checks) + "\n")
    else:
        out.print(show.render(checks))
    if not ready(checks):
        raise typer.Exit(3)


@app.command(epilog="Example: culvert vpns --json")
def vpns(as_json: Json = False) -> None:
    """List VPNs and their variants: installed or not, and why not."""
    from culvert.vpns import listing

    rows = listing.list_vpns()
    if as_json:
        _print_json([row.as_json() for row in rows])
    else:
        out.print(listing.table(rows))


@app.command(epilog="Example: sudo culvert install wireguard/go openvpn")
def install(
    names: Annotated[list[str] | None, typer.Argument(metavar="[VPN]...")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every VPN that can be installed.")] = False,
    study: Annotated[
        str | None, typer.Option("--study", help="The VPNs of this study.", metavar="STUDY")
    ] = None,
    as_json: Json = False,
) -> None:
    """Install VPNs with their Ansible roles, and say how long it took."""
    from culvert import install_command

    results = install_command.install_named(names or [], every=every, study=study)
    if as_json:
        _print_json([asdict(result) for result in results])
    else:
        out.print(install_command.table(results))
    if not all(result.ok for result in results):
        raise typer.Exit(1)


@app.command(epilog="Example: sudo culvert up wireguard/go")
def up(
    vpn: Annotated[str, typer.Argument(metavar="VPN")],
    topology: Annotated[str, typer.Option(help="pair or routed.")] = "pair",
) -> None:
    """Bring one tunnel up and keep it, to try things by hand; Ctrl-C removes it."""
    from culvert.run.keep import keep_up

    keep_up(vpn, topology, out)


@app.command(epilog="Example: sudo culvert run quick --out results/quick")
def run(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A file, or a shipped study.")],
    directory: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where the journal goes.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted run in DIR.")
    ] = False,
    lab: Annotated[str, typer.Option(help="Where nodes come from: netns.")] = "netns",
    only: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="Cells whose VPN, condition or measurement match."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the cells and how long it takes.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a study; every trial is proved and journalled."""
    from culvert.run.command import RunRequest, dry, run_study

    request = RunRequest(study, directory, resume=resume, lab=lab, only=only)
    if dry_run:
        dry(request, out, as_json=as_json)
        return
    tally = run_study(request, out, as_json=as_json)
    if not tally.clean:
        raise typer.Exit(1)


@app.command(epilog="Example: culvert report results/quick")
def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR")], as_json: Json = False
) -> None:
    """Write report.html, tables and figures into the run's directory."""
    from culvert.report.command import report_on

    written = report_on(directory, out, show=not as_json)
    if as_json:
        _print_json({"report": str(written)})


@app.command(epilog="Example: culvert export results/quick --format csv > quick.csv")
def export(
    directory: Annotated[Path, typer.Argument(metavar="DIR")],
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


@app.command(epilog="Example: sudo culvert clean")
def clean(
    every: Annotated[bool, typer.Option("--all", help="Also runs that still go on.")] = False,
    as_json: Json = False,
) -> None:
    """Remove what an interrupted run left behind."""
    from culvert.labs.cleanup import remove_leftovers

    removed = remove_leftovers(all_runs=every)
    if as_json:
        _print_json([{"kind": str(one.kind), "name": one.name} for one in removed])
        return
    for one in removed:
        out.print(f"removed {one.kind} {one.name}", markup=False)
    if not removed:
        out.print("nothing was left behind")
