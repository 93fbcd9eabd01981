"""Every test can fail: it asserts something itself, or calls a function of the tests that does."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
WAIT = ("culvert.waiting", "wait_until")
METHODS = {"raises", "fail", "refused"}

Module = Mapping[str, ast.FunctionDef]


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


@cache
def functions(path: Path) -> Module:
    return {each.name: each for each in nodes_of(path) if isinstance(each, ast.FunctionDef)}


@cache
def imported(path: Path) -> Mapping[str, tuple[str, str]]:
    """Names with the module and the name there."""
    found: dict[str, tuple[str, str]] = {}
    for each in nodes_of(path):
        if isinstance(each, ast.ImportFrom):
            above = path.relative_to(TESTS.parent).parts[: -each.level] if each.level else ()
            module = ".".join([*above, *([each.module] if each.module else [])])
            found |= {one.asname or one.name: (module, one.name) for one in each.names}
    return found


@cache
def asserts(path: Path, name: str) -> bool:
    """Whether this function has an assertion, or calls one that has."""
    nodes = list(ast.walk(functions(path)[name]))
    called = [each.func for each in nodes if isinstance(each, ast.Call)]
    return (
        any(isinstance(each, ast.Assert | ast.Raise) for each in nodes)
        or any(isinstance(each, ast.Attribute) and each.attr in METHODS for each in called)
        or any(leads(path, each.id, name) for each in called if isinstance(each, ast.Name))
    )


def leads(path: Path, called: str, caller: str) -> bool:
    module, name = imported(path).get(called, ("", called))
    if (module, name) == WAIT:
        return True
    if module and not module.startswith("tests"):
        return False
    place = TESTS.parent / (module.replace(".", "/") + ".py") if module else path
    if not place.exists() or name not in functions(place) or (place, name) == (path, caller):
        return False
    return asserts(place, name)


def test_every_test_asserts_something() -> None:
    silent = [
        f"{path.relative_to(TESTS)}: {name}"
        for path in sorted(TESTS.rglob("test_*.py"))
        for name in functions(path)
        if name.startswith("test_") and not asserts(path, name)
    ]
    assert silent == []
