"""Files are complete when they have their names, and belong to the user who called sudo."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from culvert.files.target import replacing, write

STRANGER = 65_533


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_sudo_makes_belongs_to_its_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_UID", str(STRANGER))
    monkeypatch.setenv("SUDO_GID", str(STRANGER))
    write(tmp_path / "a" / "b" / "c" / "x", b"x")
    for name in ("a", "a/b", "a/b/c", "a/b/c/x"):
        status = (tmp_path / name).stat()
        assert (status.st_uid, status.st_gid) == (STRANGER, STRANGER)


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(TypeError), replacing(path) as file:
        file.write("text")  # type: ignore[call-overload]
    assert [one.name for one in tmp_path.iterdir()] == ["x"]
    assert path.read_text() == "old"
    write(path, b"new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) & 0o022 == 0


def test_a_target_replaces_a_link_and_spares_devices(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    link = tmp_path / "out.csv"
    link.symlink_to(victim)
    with replacing(link) as file:
        file.write(b"rows")
    assert (link.is_symlink(), link.read_text(), victim.read_text()) == (False, "rows", "precious")
    with replacing(Path("/dev/null")) as file:
        file.write(b"rows")
    assert Path("/dev/null").is_char_device()
