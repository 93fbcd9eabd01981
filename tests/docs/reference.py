"""The page of all names that a driver imports, from their docstrings: ``make docs`` writes it."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from enum import Enum

from culvert.vpns import authoring

_HEAD = """\
# Driver reference

All names of `culvert.vpns.authoring`, the only module that a driver imports. `make docs` writes
this page from the docstrings. [Add a VPN](add-a-vpn.md) shows how they are used.
"""
_FIRST = (
    *("TunProgram", "TunnelVpn", "MeshVpn", "AssigningMeshVpn"),
    *("TunDevice", "Vpn"),
)


def page() -> str:
    """The whole page."""
    found = {name: getattr(authoring, name) for name in authoring.__all__}
    classes = {name: each for name, each in found.items() if inspect.isclass(each)}
    functions = {name: each for name, each in found.items() if inspect.isfunction(each)}
    constants = [name for name in found if name not in classes and name not in functions]
    first = [name for name in _FIRST if name in classes]
    ordered = [*first, *(name for name in classes if name not in first)]
    parts = [_HEAD, "## Classes"]
    parts += [_of_class(name, classes[name]) for name in ordered]
    parts += ["## Functions", "\n".join(_function(name, each) for name, each in functions.items())]
    parts += ["## Constants", "\n".join(f"- `{name}`" for name in constants)]
    text = "\n\n".join(part.strip() for part in parts) + "\n"
    # A driver's lab has nodes of this type, unless it says otherwise.
    return re.sub(r"\b(Lab|Ends)\[AnyNode\]", r"\1", text).replace("AnyNode", "Node")


def _of_class(name: str, cls: type) -> str:
    above = [base.__name__ for base in cls.__bases__ if base.__name__ in authoring.__all__]
    derived = f" Derived from {' and '.join(f'`{base}`' for base in above)}." if above else ""
    lines = [*_values(cls), *_members(cls)]
    return f"### {name}\n\n{_text(inspect.getdoc(cls))}{derived}\n\n" + "\n".join(lines)


def _values(cls: type) -> Iterator[str]:
    """Members of an enumeration."""
    if issubclass(cls, Enum):
        yield from (f"- `{member.name}`" for member in cls)


def _members(cls: type) -> Iterator[str]:
    """Its own attributes, with their docstrings, and methods."""
    if issubclass(cls, Enum):
        return
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(tree, ast.ClassDef)
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and not ast.unparse(node.target).startswith("_"):
            yield _attribute(node, after)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            names = [ast.unparse(each) for each in node.decorator_list]
            called = _result(node) if "property" in names else _signature(node)
            kind = "property" if "property" in names else ""
            must = "must be defined" if "abstractmethod" in names else ""
            notes = ", ".join(filter(None, (kind, must)))
            doc = _text(ast.get_docstring(node))
            yield f"- `{node.name}{called}`{f' ({notes})' if notes else ''}: {doc}"


def _attribute(node: ast.AnnAssign, after: ast.stmt | None) -> str:
    kind = re.sub(r"^ClassVar\[(.*)\]$", r"\1", ast.unparse(node.annotation))
    default = f" = {ast.unparse(node.value)}" if node.value else ""
    if "field(" in default:
        default = ""
    says = ""
    if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
        says = f": {_text(inspect.cleandoc(str(after.value.value)))}"
    return f"- `{ast.unparse(node.target)}: {kind}{default}`{says}"


def _signature(node: ast.FunctionDef) -> str:
    arguments = [each for each in _arguments(node.args) if each != "self"]
    return f"({', '.join(arguments)}){_result(node)}"


def _result(node: ast.FunctionDef) -> str:
    result = ast.unparse(node.returns) if node.returns else "None"
    return "" if result == "None" else f" -> {result}"


def _arguments(arguments: ast.arguments) -> Iterable[str]:
    """With types; what may be left out with its default, what is passed by name after a star."""
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + list(arguments.defaults)
    yield from map(_argument, arguments.args, defaults)
    if arguments.kwonlyargs:
        yield "*"
    yield from map(_argument, arguments.kwonlyargs, arguments.kw_defaults)


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    kind = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
    return f"{argument.arg}{kind}" + (f" = {ast.unparse(default)}" if default else "")


def _function(name: str, found: object) -> str:
    tree = ast.parse(textwrap.dedent(inspect.getsource(found))).body[0]  # type: ignore[arg-type]
    assert isinstance(tree, ast.FunctionDef)
    return f"- `{name}{_signature(tree)}`: {_text(ast.get_docstring(tree))}"


def _text(doc: str | None) -> str:
    return " ".join((doc or "").replace("``", "`").split())
