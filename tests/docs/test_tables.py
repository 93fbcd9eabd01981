"""The documentation's tables say what the code declares."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.tables import ROOT, documents, own


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_the_tables_are_current(path: Path) -> None:
    same = path.read_text(encoding="utf-8") == documents()[path]
    assert same, f"a table in {path.relative_to(ROOT)} is out of date: run make docs"


def test_every_parameter_says_what_it_is() -> None:
    for kind, one in own().items():
        for key, field in one.Parameters.model_json_schema(by_alias=True)["properties"].items():
            assert field.get("description"), f"{kind}.{key} has no docstring below it"
