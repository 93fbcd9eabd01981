"""The options of ``culvert run`` that labs bring: each lab declares its own."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from culvert.errors import UsageError

if TYPE_CHECKING:
    from culvert.labs.kind import LabKind, LabOption

LAB = "lab"
PREFIX = "lab_"
"""Of the names of parameters: an option may be called ``from``."""


class LabCommand(TyperCommand):
    """A command with --lab and the options of every installed lab; ``ctx.obj`` is the chosen lab.

    The labs are loaded when the command is parsed, not for every command of the program.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters of the command, and the options of all labs."""
        return [*super().get_params(ctx), *_parameters().values()]

    def invoke(self, ctx: Any) -> Any:
        """The callback takes the command's own parameters."""
        typed = {key: ctx.params.pop(one.name, None) for key, one in _parameters().items()}
        name = typed.pop(LAB)
        ctx.obj = _chosen(name, {key: value for key, value in typed.items() if value})
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """A section of its own for each lab."""
        own = [each.get_help_record(ctx) for each in super().get_params(ctx)]
        arguments = [each for each in super().get_params(ctx) if each.param_type_name == "argument"]
        with formatter.section("Arguments"):
            formatter.write_dl([each.get_help_record(ctx) for each in arguments])
        with formatter.section("Options"):
            taken = [each.get_help_record(ctx) for each in arguments]
            own = [one for one in own if one is not None and one not in taken]
            formatter.write_dl([_parameters()[LAB].get_help_record(ctx), *own])
        for kind in _kinds():
            if kind.options:
                with formatter.section(f"Options of the lab {kind.name} ({kind.summary})"):
                    formatter.write_dl(
                        [_parameters()[_key(one)].get_help_record(ctx) for one in kind.options]
                    )


def _known_labs(incomplete: str) -> list[str]:
    from culvert.labs.registry import names

    return [name for name in names() if name.startswith(incomplete)]


def _chosen(name: str, typed: Mapping[str, Any]) -> LabKind:
    """The lab of that name with the options that were typed. Raises UsageError, also for an option
    of another lab."""
    from culvert.labs.registry import lab_kind

    kind = lab_kind(name)
    own = {_key(option): option.name for option in kind.options}
    for key in typed.keys() - own.keys():
        owners = [each.name for each in _kinds() if key in map(_key, each.options)]
        raise UsageError(
            f"--{key.replace('_', '-')}",
            f"it is an option of the lab {' and '.join(owners)}, not of {name}",
            f"leave it out, or add --lab {owners[0]}",
        )
    return kind({own[key]: value for key, value in typed.items()})


def _kinds() -> Iterator[type[LabKind]]:
    from culvert.labs.registry import lab_kind, names

    for name in names():
        try:
            yield lab_kind(name)
        except UsageError:  # a broken package of third parties: reported when it is chosen
            continue


def _key(option: LabOption) -> str:
    return option.name.replace("-", "_")


@cache
def _parameters() -> dict[str, Any]:
    """Typer makes the parameters from the signature of a function that has them all."""

    def options() -> None:
        """Typer reads its signature; nothing calls it."""

    every = {_key(option): option for kind in _kinds() for option in kind.options}
    parameters = {f"{PREFIX}{key}": _parameter(option) for key, option in every.items()}
    parameters[LAB] = _lab()
    options.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for key, (kind, default) in parameters.items()
        ]
    )
    options.__annotations__ = {key: kind for key, (kind, _) in parameters.items()}
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command()(options)
    made: Any = typer.main.get_command(app)
    by_name = {each.name: each for each in made.params}
    return {LAB: by_name[LAB], **{key: by_name[f"{PREFIX}{key}"] for key in every}}


def _lab() -> tuple[Any, str]:
    from culvert.labs.registry import DEFAULT, names

    option = typer.Option(
        metavar="NAME",
        help=f"Where the nodes are: {', '.join(names())}.",
        autocompletion=_known_labs,
    )
    return Annotated[str, option], DEFAULT


def _parameter(option: LabOption) -> tuple[Any, Any]:
    if not option.metavar:
        flag = typer.Option(f"--{option.name}", help=option.help)
        return Annotated[bool, flag], False
    default = f" [default: {option.default}]" if option.default else ""
    valued = typer.Option(f"--{option.name}", metavar=option.metavar, help=option.help + default)
    return Annotated[str | None, valued], None
