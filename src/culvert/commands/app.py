"""All commands together."""

from __future__ import annotations

from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperGroup

from culvert.commands.labs import hosts, kubernetes, vm
from culvert.commands.machine import doctor, shell, wire
from culvert.commands.many_runs import history, site
from culvert.commands.measure import bench, clean, run, study, up
from culvert.commands.results import (
    advise,
    bundle,
    compare,
    export,
    import_,
    report,
    reproduce,
    verify,
)
from culvert.commands.versions import bisect, versions
from culvert.commands.vpns import features, install, vpns
from culvert.console import out


class InterruptionError(Exception):
    """Ctrl-C; Typer would end the program without a word."""


class OutputError(Exception):
    """Writing failed; Typer would end the program without a word if it was to a pipe."""


GROUPS = {
    "Measure": (run, bench, study, up, clean),
    "Results": (report, compare, advise, export, import_, bundle, verify, reproduce),
    "Versions": (versions, bisect),
    "Many runs": (history, site),
    "VPNs": (vpns, features, install),
    "Labs": (hosts, kubernetes, vm),
    "This machine": (doctor, shell, wire),
}
"""Every command once, as the help shows them."""

EXAMPLES = """
First steps:
  culvert doctor                           what this machine can measure
  culvert install --study quick            install its VPNs (root)
  culvert run quick --out results/quick    measure
  culvert report results/quick             write report.html
"""


class _Commands(TyperGroup):
    """Groups commands in the help, and keeps from Typer what ``main`` reports itself."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise InterruptionError from None
        except BrokenPipeError as error:
            raise OutputError from error

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        """One section a group; a column as wide as the longest name."""
        width = max(len(name) for name in self.commands)
        for title, modules in GROUPS.items():
            names = [_name(module) for module in modules]
            limit = formatter.width - width - 4
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (name.ljust(width), self.commands[name].get_short_help_str(limit))
                        for name in names
                    ]
                )

    def format_epilog(self, _ctx: Any, formatter: Any) -> None:
        formatter.write(EXAMPLES)


def _no_type(*_: object, **__: object) -> str:
    """Typer shows Python's types, such as <list[Path]>."""
    return ""


def _usage(argument: TyperArgument, _ctx: object) -> list[str]:
    """An argument as manual pages have it: Typer puts braces around a required one."""
    name = argument.metavar or str(argument.name).upper()
    many = "..." if argument.nargs != 1 and not name.endswith("...") else ""
    return [f"{name}{many}" if argument.required else f"[{name}]{many}"]


TyperArgument.display_type_rich = _no_type  # type: ignore[method-assign]
TyperArgument.get_usage_pieces = _usage  # type: ignore[method-assign, assignment]


def _name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2].rstrip("_")


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    help="Measure VPNs, with proof that the traffic was in the tunnel.",
)
for _modules in GROUPS.values():
    for _module in _modules:
        # A module with several commands is a group of its own name.
        _several = len(_module.app.registered_commands) > 1
        app.add_typer(_module.app, name=_name(_module) if _several else None)


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
