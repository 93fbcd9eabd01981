"""The command line: one thin function per command."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from culvert import __version__
from culvert.compare.form import Form
from culvert.console import (
    accept_any_text,
    err,
    give_up_output,
    nobody_reads,
    out,
    print_json,
)
from culvert.defect import as_error, show_if_wanted
from culvert.errors import CulvertError, NotPossible
from culvert.foreign.formats import ForeignFormat
from culvert.journal.format import Format

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it (128 + SIGINT)."""


class _InterruptedError(Exception):
    """Ctrl-C; Typer would end the program without a word."""


class _OutputError(Exception):
    """Writing failed; Typer would end the program without a word if it was to a pipe."""


class _Commands(TyperGroup):
    """Keeps from Typer what ``main`` has something to say about."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise _InterruptedError from None
        except BrokenPipeError as error:
            raise _OutputError from error


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Culvert, a VPN performance laboratory: real VPNs, measured with proof.",
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
VehicleName = Annotated[
    str | None, typer.Option("--vehicle", metavar="NAME", help="kvm, uml or tcg; else the first.")
]
KernelPath = Annotated[
    Path | None, typer.Option("--kernel", metavar="PATH", help="Instead of Culvert's own kernel.")
]


def main() -> None:
    """Entry point of the ``culvert`` command: errors in a few lines, and their exit codes."""
    _open_standard_streams()
    accept_any_text()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # else nohup wants it ignored
            signal.signal(number, _interrupt)
    try:
        code = _run()
    except CulvertError as error:
        code = _tell(error)
    except (_InterruptedError, KeyboardInterrupt):
        # Whoever presses Ctrl-C twice gets no traceback: all is removed, only words are left.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        err.print("interrupted", style="yellow")
        code = INTERRUPTED
    except Exception as error:
        show_if_wanted(error)
        code = _tell(as_error(error, "culvert"))
    sys.exit(code)


def _run() -> int:
    """Run the command that was asked for; its exit code."""
    try:
        try:
            app()
        except SystemExit as end:
            if sys.stdout is not None:
                sys.stdout.flush()
            return end.code if isinstance(end.code, int) else 0
    except _OutputError as error:
        cause = error.__cause__ or error
        if not nobody_reads():
            raise cause from None
        give_up_output()  # head and less have seen enough: no error
    except BrokenPipeError:
        give_up_output()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT) or error.filename is not None:
            raise
        give_up_output()
        raise CulvertError(
            "standard output", f"it cannot be written: {error.strerror}", "free some space"
        ) from error
    return 0


def _tell(error: CulvertError) -> int:
    err.print(f"error: {error}", markup=False, style="bold red")
    err.print(f"remedy: {error.remedy}", markup=False)
    return error.exit_code


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _open_standard_streams() -> None:
    """Where one of them is closed, the next file to be opened would take its place."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


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
        print_json(json.loads(show.to_json(checks)))
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
        print_json([row.as_json() for row in rows])
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
        print_json([asdict(result) for result in results])
    else:
        out.print(install_command.table(results))
    if not all(result.ok for result in results):
        raise typer.Exit(1)


@app.command(epilog="Example: sudo culvert up wireguard/go")
def up(
    vpn: Annotated[str, typer.Argument(metavar="VPN")],
    topology: Annotated[str, typer.Option(help="pair or routed.")] = "pair",
    as_json: Json = False,
) -> None:
    """Bring one tunnel up and keep it, to try things by hand; Ctrl-C removes it."""
    from culvert.run.keep import keep_up

    keep_up(vpn, topology, as_json=as_json)


@app.command(
    "wire",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)
def wire(ctx: typer.Context) -> None:
    """The emulated link by hand, with live statistics; see docs/conditions.md."""
    from culvert.become import become

    become("culvert-wire", ctx.args)


@app.command(
    "probe",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)
def probe(ctx: typer.Context) -> None:
    """Measure by hand: packets, streams, round trips; see docs/probe-protocol.md."""
    from culvert.become import become

    become("culvert-probe", ctx.args)


@app.command(epilog="Example: sudo culvert run quick --out results/quick")
def run(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A file, or a shipped study.")],
    directory: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where the journal goes.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted run in DIR.")
    ] = False,
    lab: Annotated[
        str, typer.Option(help="Where nodes come from: netns, or vm (a guest kernel).")
    ] = "netns",
    vehicle: VehicleName = None,
    kernel: KernelPath = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="Cells whose VPN, condition or measurement match."),
    ] = None,
    scale: Annotated[
        str, typer.Option(metavar="NAME", help="A smaller edition: [scale.NAME] of the study.")
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the cells and how long it takes.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a study; every trial is proved and journalled."""
    from culvert.run.command import RunRequest, dry, run_in_guest, run_study
    from culvert.vm.inside import guest

    request = RunRequest(study, directory, resume=resume, lab=lab, only=only, scale=scale)
    if dry_run:
        dry(request, as_json=as_json)
        return
    if lab == "vm" and guest() is None:
        raise typer.Exit(run_in_guest(request, as_json=as_json, vehicle=vehicle, kernel=kernel))
    tally = run_study(request, as_json=as_json)
    if tally.exit_code:
        raise typer.Exit(tally.exit_code)


@app.command(epilog="Example: culvert repair results/quick")
def repair(
    directory: Annotated[Path, typer.Argument(metavar="DIR")], as_json: Json = False
) -> None:
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


study_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Study files.")
app.add_typer(study_app, name="study")


@study_app.command("check", epilog="Example: culvert study check mine.toml")
def study_check(
    files: Annotated[list[str], typer.Argument(metavar="FILE...")], as_json: Json = False
) -> None:
    """Validate study files: every problem with its line and remedy, and warnings."""
    from culvert.study.installed import installed_catalogue
    from culvert.study_command import check, show_checked

    found = check(files, installed_catalogue())
    if as_json:
        print_json(found)
    else:
        show_checked(found)
    if not all(one["ok"] for one in found):
        raise typer.Exit(2)


@study_app.command("show", epilog="Example: culvert study show quick")
def study_show(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A file, or a shipped study.")],
    scale: Annotated[
        str, typer.Option(metavar="NAME", help="A smaller edition: [scale.NAME] of the study.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Print a study's cells, plan, claims, published values, and how long it takes."""
    from culvert import study_command
    from culvert.study.installed import installed_catalogue
    from culvert.study.study import Study

    catalogue = installed_catalogue()
    found = Study.load(study, catalogue, scale=scale)
    if as_json:
        print_json(study_command.as_json(found, catalogue))
    else:
        study_command.show(found, catalogue)


@study_app.command("list", epilog="Example: culvert study list")
def study_list(as_json: Json = False) -> None:
    """List the shipped studies."""
    from culvert.study.installed import installed_catalogue
    from culvert.study_command import listing, show_list

    found = listing(installed_catalogue())
    if as_json:
        print_json(found)
    else:
        show_list(found)


@study_app.command("schema", epilog="Example: culvert study schema > study.schema.json")
def study_schema() -> None:
    """Print the JSON schema of study files, for editors."""
    from culvert.study.installed import installed_catalogue
    from culvert.study_command import schema_text

    out.print(schema_text(installed_catalogue()), markup=False, soft_wrap=True)


@app.command(epilog="Example: culvert report results/quick")
def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR")], as_json: Json = False
) -> None:
    """Write report.html, tables and figures into the run's directory."""
    from culvert.report import claims
    from culvert.report.command import report_on

    written, data = report_on(directory, out, show=not as_json)
    if as_json:
        print_json({"report": str(written), **claims.as_json(data.claims)})


@app.command(epilog="Example: culvert compare results/before results/after --tolerance 3%")
def compare(
    runs: Annotated[
        list[str], typer.Argument(metavar="A [B]", help="DIR or DIR:VPN; one DIR with two --vpn.")
    ],
    vpn: Annotated[
        list[str] | None, typer.Option("--vpn", metavar="VPN", help="Two VPNs of one run.")
    ] = None,
    tolerance: Annotated[
        str, typer.Option(metavar="SHARE", help="What is not worth talking about.")
    ] = "3%",
    alpha: Annotated[
        str, typer.Option(metavar="SHARE", help="False alarms in a whole comparison, at most.")
    ] = "5%",
    form: Annotated[Form, typer.Option("--format")] = Form.TEXT,
    file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Instead of standard output.")
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="Cells whose VPN, condition or measurement match."),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="key (the default), all, or names with commas."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Tell faster, slower, same or cannot tell, of B against A; exit code 1 if slower."""
    from culvert.compare.command import CompareRequest, run_compare

    request = CompareRequest(
        runs,
        vpn or [],
        tolerance,
        alpha,
        Form.JSON if as_json else form,
        file,
        only,
        metrics,
    )
    if run_compare(request):
        raise typer.Exit(1)


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
    from culvert.foreign import command
    from culvert.foreign.naming import Naming

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
    directory: Annotated[Path, typer.Argument(metavar="DIR")],
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


@app.command(epilog="Example: sudo culvert clean")
def clean(
    every: Annotated[bool, typer.Option("--all", help="Also runs that still go on.")] = False,
    as_json: Json = False,
) -> None:
    """Remove what an interrupted run left behind."""
    from culvert.labs.cleanup import remove_leftovers

    if os.geteuid() != 0:
        raise NotPossible(
            "culvert clean", "only root sees and removes what a run left behind", "run it with sudo"
        )
    removed = remove_leftovers(all_runs=every)
    if as_json:
        print_json([{"kind": str(one.kind), "name": one.name} for one in removed])
        return
    for one in removed:
        out.print(f"removed {one.kind} {one.name}", markup=False)
    if not removed:
        out.print("nothing was left behind")


vm_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Guest kernels.")
app.add_typer(vm_app, name="vm")

Shares = Annotated[
    list[Path] | None,
    typer.Option("--share", metavar="DIR", help="A folder that the guest may change."),
]


@vm_app.command("build", epilog="Example: culvert vm build")
def vm_build(
    vehicle: Annotated[
        str, typer.Option(metavar="NAME", help="uml builds a kernel, kvm and tcg fetch one.")
    ] = "uml",
    as_json: Json = False,
) -> None:
    """Build or fetch the guest kernel; once is enough."""
    from culvert.vm.command import build_kernel

    told = build_kernel(vehicle)
    if as_json:
        print_json(told)
    else:
        out.print("\n".join(f"{name}: {value}" for name, value in told.items()), markup=False)


@vm_app.command("run", epilog="Example: culvert vm run -- culvert doctor")
def vm_run(
    argv: Annotated[list[str], typer.Argument(metavar="COMMAND...")],
    vehicle: VehicleName = None,
    kernel: KernelPath = None,
    share: Shares = None,
) -> None:
    """Run a command in a guest; its exit code is the guest's."""
    from culvert.vm.command import run_command

    raise typer.Exit(run_command(argv, vehicle=vehicle, kernel=kernel, shares=share or ()))


@vm_app.command("shell", epilog="Example: culvert vm shell")
def vm_shell(vehicle: VehicleName = None, kernel: KernelPath = None, share: Shares = None) -> None:
    """A shell in a guest, to try things by hand."""
    from culvert.vm.command import shell

    raise typer.Exit(shell(vehicle=vehicle, kernel=kernel, shares=share or ()))
