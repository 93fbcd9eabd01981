"""Where programs are found, and in which order."""

from __future__ import annotations

import pwd
from pathlib import Path

import pytest

from culvert import tools
from culvert.errors import NotPossible


def _program(directory: Path, name: str, mode: int = 0o755) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CULVERT_TOOLS", str(tmp_path / "tools"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    return tmp_path / "tools/bin"


def test_culverts_own_come_first(own: Path, tmp_path: Path) -> None:
    theirs = _program(tmp_path / "path", "vpn")
    assert tools.find("vpn") == theirs
    assert tools.find("vpn") != (mine := _program(own, "vpn"))
    assert tools.find("vpn") == mine


def test_what_cannot_be_executed_is_passed_over(own: Path, tmp_path: Path) -> None:
    _program(own, "vpn", mode=0o644)
    (tmp_path / "path/other").mkdir(parents=True)
    assert tools.find("vpn") is None
    assert tools.find("other") is None


def test_the_working_directory_is_never_searched(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path, "vpn")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f":{tmp_path / 'path'}:")
    assert tools.find("vpn") is None
    assert tools.find("./vpn") == Path("vpn")


def test_a_missing_program_names_the_remedy(own: Path) -> None:
    with pytest.raises(NotPossible, match="vpn: is not installed") as caught:
        tools.require("vpn", "culvert install vpn")
    assert caught.value.remedy == "culvert install vpn"


def test_system_programs_are_found_without_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert tools.find("sh") is None or tools.find("sh") != Path("sh")


def test_a_user_has_tools_besides_roots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CULVERT_TOOLS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert tools.tool_directories() == (tools.MACHINES,)
    monkeypatch.setattr(tools, "is_root", lambda: False)
    assert tools.tools_directory() == tmp_path / "culvert/tools"
    assert tools.tool_directories() == (tmp_path / "culvert/tools", tools.MACHINES)
    monkeypatch.setenv("CULVERT_TOOLS", str(tmp_path / "x"))
    assert tools.tool_directories() == (tmp_path / "x",)


def test_a_relative_path_is_no_user_s_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the XDG Base Directory Specification has it."""
    monkeypatch.setenv("HOME", "/home/u")
    monkeypatch.setenv("XDG_DATA_HOME", "data")
    assert tools.users_directory("XDG_DATA_HOME", "x") == Path("/home/u/x")


def test_a_user_id_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.delenv("CULVERT_TOOLS", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(tools, "is_root", lambda: False)
    assert tools.find("sh") is not None
    assert str(tools.cache_directory()).startswith("/nonexistent/")


def test_a_preferred_directory_comes_first_and_names_what_was_used(
    own: Path, tmp_path: Path
) -> None:
    installed, built = _program(own, "vpn"), _program(tmp_path / "build", "vpn")
    _program(own, "other")
    with tools.preferring(built.parent) as preferred:
        assert tools.find("other") == own / "other"
        assert preferred.used == set()
        assert tools.find("vpn") == built
        assert tools.search_path().startswith(f"{built.parent}:")
    assert preferred.used == {"vpn"}
    assert tools.find("vpn") == installed
