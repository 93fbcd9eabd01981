"""Rust's modules lie in layers, as Python's do (import-linter keeps those): no two of them use
each other, and no two folders do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCES = sorted(Path("crates").glob("*/src"))
USE = re.compile(r"\buse\s+([^;]+);")
PATH = re.compile(r"(?<![\w:])(?:\w+::)+\w+")

Module = tuple[str, ...]
"""The names from the crate's root: ("net", "socket")."""


def modules(source: Path) -> dict[Module, str]:
    """The code of every file without comments and tests. Tests may look around."""
    found: dict[Module, str] = {}
    for file in source.rglob("*.rs"):
        names = file.relative_to(source).with_suffix("").parts
        code = re.sub(r"//.*", "", file.read_text(encoding="utf-8"))
        code = code.split("#[cfg(test)]\nmod ")[0]
        found[names[:-1] if names[-1] in ("mod", "lib") else names] = code
    return found


def paths(code: str) -> Iterator[Module]:
    """Every path in the code; ``use a::{b, c::d}`` is two."""
    for used in USE.findall(code):
        yield from expanded(re.sub(r"\s+(as \w+)?", "", used))
    for path in PATH.findall(USE.sub("", code)):
        yield tuple(path.split("::"))


def expanded(used: str) -> Iterator[Module]:
    before, group, inner = used.partition("{")
    if not group:
        yield tuple(used.split("::"))
        return
    depth, one = 0, ""
    for letter in inner.removesuffix("}") + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            yield from expanded(before + one) if one else ()
            one = ""
        else:
            one += letter


def target(module: Module, path: Module, known: dict[Module, str]) -> Module | None:
    """The module that a path in this module leads to; none outside the crate."""
    where = module
    if path[0] == "crate":
        where, path = (), path[1:]
    elif (*module, path[0]) not in known and path[0] not in ("self", "super"):
        return None
    for name in path:
        if name == "super":
            where = where[:-1]
        elif (*where, name) in known:
            where = (*where, name)
        elif name != "self":
            break
    return where


def uses(known: dict[Module, str]) -> Iterator[tuple[Module, Module]]:
    for module, code in known.items():
        for path in paths(code):
            found = target(module, path, known)
            if found is not None:
                yield module, found


def layers(edges: Iterable[tuple[Module, Module]]) -> dict[Module, set[Module]]:
    """Whom each file or folder uses beside it. A part may use the module that it is a part of."""
    beside: dict[Module, set[Module]] = {}
    for user, used in edges:
        for depth, (one, other) in enumerate(zip(user, used, strict=False), 1):
            if one != other:
                beside.setdefault(user[:depth], set()).add(used[:depth])
                break
    return beside


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_no_two_modules_use_each_other(source: Path) -> None:
    edges = list(uses(modules(source)))
    assert len(edges) > 100
    tuple(TopologicalSorter(layers(edges)).static_order())


@pytest.mark.parametrize(
    "code",
    [
        "use crate::beta::{Beta, gamma::{self, Gamma}};",
        "use super::{alpha, beta};",
        "fn new() -> Beta { super::beta::new() }",
    ],
)
def test_a_circle_is_found(code: str) -> None:
    known = {(): "mod alpha; mod beta;", ("alpha",): code, ("beta",): "use crate::alpha::Alpha;"}
    with pytest.raises(CycleError):
        TopologicalSorter(layers(uses(known))).prepare()


def test_a_part_may_use_its_whole() -> None:
    known = {
        (): "",
        ("whole",): "mod part; use part::Part;",
        ("whole", "part"): "use super::Whole;",
    }
    assert set(uses(known)) == {(("whole",), ("whole", "part")), (("whole", "part"), ("whole",))}
    TopologicalSorter(layers(uses(known))).prepare()
