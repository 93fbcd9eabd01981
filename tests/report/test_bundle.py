"""The libraries' script is kept between reports, and a report never depends on that."""

from __future__ import annotations

from pathlib import Path

import pytest
import vl_convert

from culvert.report.html.bundle import bundle


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """One entry for each time that the libraries were bundled; the cache is in ``tmp_path``."""
    calls: list[str] = []

    def javascript_bundle(snippet: object, *, vl_version: str) -> str:
        calls.append(vl_version)
        return "/* libraries */"

    monkeypatch.setattr(vl_convert, "javascript_bundle", javascript_bundle)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return calls


def test_the_drawing_script_is_bundled_once(made: list[str], tmp_path: Path) -> None:
    first, second = bundle.__wrapped__(), bundle.__wrapped__()
    assert first == second == "(function(){/* libraries */\n})();"
    assert len(made) == 1
    (kept,) = (tmp_path / "culvert").iterdir()
    assert kept.read_text() == first


@pytest.mark.parametrize("damage", [b"", b"(function(){half of it", b"\xff\xfe"])
def test_a_damaged_copy_is_replaced(made: list[str], tmp_path: Path, damage: bytes) -> None:
    whole = bundle.__wrapped__()
    (kept,) = (tmp_path / "culvert").iterdir()
    kept.write_bytes(damage)
    assert bundle.__wrapped__() == whole
    assert kept.read_text() == whole
    assert len(made) == 2


def test_nowhere_to_keep_it_is_no_error(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert bundle.__wrapped__().startswith("(function(){")
    assert bundle.__wrapped__().startswith("(function(){")
    assert len(made) == 2
