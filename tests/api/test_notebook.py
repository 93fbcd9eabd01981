"""The notebook of the documentation, cell by cell, as a kernel without a browser would run it."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from tests.test_pins import ROOT

NOTEBOOK = json.loads((ROOT / "docs/notebook.ipynb").read_text())
_SHOWN = ("_repr_html_", "_repr_mimebundle_")
"""What Jupyter asks an object for, before its text."""


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """The value of its last line if that is an expression."""
    parsed = ast.parse(source)
    last = parsed.body.pop() if isinstance(parsed.body[-1], ast.Expr) else None
    exec(compile(parsed, "<cell>", "exec"), names)
    if last is None:
        return None
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


@pytest.mark.lab
@pytest.mark.slow
def test_every_cell_runs_and_shows_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    cells = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    shown = [run_cell("".join(cell["source"]), names) for cell in cells]
    assert len(shown) == 8
    values = [value for value in shown if value is not None]
    assert len(values) == 7  # all but the imports
    assert all(any(hasattr(value, name) for name in _SHOWN) for value in values)
    assert all(value.height for value in values if hasattr(value, "height"))
    assert (tmp_path / "results/again").is_dir()


def test_it_is_stored_without_results() -> None:
    """They would be one machine's, and older than the code."""
    code = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
