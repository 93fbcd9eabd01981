"""The command for root, as sudo finds it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from culvert import privilege


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a virtual environment's programs, in which culvert runs."""
    for name in ("culvert", "python"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    return tmp_path


def test_a_virtual_environments_culvert_is_named_by_its_path(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(privilege, "_ROOTS_PATH", "/nowhere")
    assert privilege.with_sudo("clean") == f"sudo {environment}/culvert clean"


def test_a_culvert_that_sudo_finds_is_named_as_it_is(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(privilege, "_ROOTS_PATH", str(environment))
    assert privilege.with_sudo("clean") == "sudo culvert clean"
