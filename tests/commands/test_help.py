"""The help of every command: grouped, whole, with -h; and what the shell completes."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from culvert.commands.app import GROUPS, app
from tests.cli import CULVERT

OWN_HELP = {"wire"}
"""A program of its own, which answers --help itself."""


def commands(group: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        yield (*path, name), command
        if hasattr(command, "commands"):
            yield from commands(command, *path, name)


EVERY = [path for path, _ in commands(typer.main.get_command(app)) if path[0] not in OWN_HELP]


def helped(*words: str) -> str:
    found = CliRunner().invoke(app, [*words, "-h"], env={"COLUMNS": "80"})
    assert found.exit_code == 0, found.output
    return found.output


def test_each_command_is_in_one_group() -> None:
    modules = Counter(module for group in GROUPS.values() for module in group)
    assert set(modules.values()) == {1}
    root: Any = typer.main.get_command(app)
    assert len(root.commands) == len(modules)


@pytest.mark.parametrize("path", [(), *EVERY], ids=" ".join)
def test_no_description_is_cut_off(path: tuple[str, ...]) -> None:
    lines = helped(*path).splitlines()
    assert not [line for line in lines if line.endswith("...") and "Usage" not in line]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_argument_and_option_has_a_help(path: tuple[str, ...]) -> None:
    command: Any = dict(commands(typer.main.get_command(app)))[path]
    assert not [one.name for one in command.params if not getattr(one, "help", "")]


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("culvert ru", "run"),
        ("culvert up wireguard/g", "wireguard/go"),
        ("culvert run qui", "quick"),
        ("culvert compare --tol", "--tolerance"),
        ("culvert vpns check none", "none"),
    ],
)
def test_the_shell_completes_commands_options_and_names(typed: str, completed: str) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    found = subprocess.run(
        CULVERT,
        env={**words, "_CULVERT_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert completed in found.stdout.split(), found


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_a_usage_has_arguments_without_braces(path: tuple[str, ...]) -> None:
    usage, _, _ = helped(*path).partition("\n\n")
    assert usage.startswith("Usage: ")
    assert "{" not in usage
