"""Nothing is written through what strangers planted."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from culvert.errors import UsageError
from culvert.files.folder import run_folder
from culvert.files.plain import open_own, open_plain, read_plain
from culvert.files.target import replacing
from tests.effort import cpu_s

STRANGER = 65_533
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def give(path: Path, uid: int = STRANGER) -> None:
    os.lchown(path, uid, uid)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("precious")
    return path


@pytest.mark.parametrize("kind", ["symbolic", "hard", "pipe", "directory"])
def test_what_has_a_file_s_place_is_refused(tmp_path: Path, victim: Path, kind: str) -> None:
    run = tmp_path / "run"
    run.mkdir()
    match kind:
        case "symbolic":
            (run / "report.html").symlink_to(victim)
        case "hard":
            (run / "report.html").hardlink_to(victim)
        case "pipe":
            os.mkfifo(run / "report.html")
        case _:
            (run / "report.html").mkdir()
    with run_folder(run) as folder, pytest.raises(UsageError, match=r"report\.html") as caught:
        folder.write("report.html", b"x")
    assert "remove it" in caught.value.remedy
    assert victim.read_text() == "precious"
    assert len(list(run.iterdir())) == 1


def test_a_directory_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tables").symlink_to(tmp_path / "elsewhere")
    with run_folder(tmp_path) as folder, pytest.raises(UsageError, match="instead of a directory"):
        folder.below("tables")


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o775, 0o757])
def test_where_others_can_write_we_do_not(tmp_path: Path, mode: int) -> None:
    run = tmp_path / "run"
    run.mkdir()
    if mode == 0o775 and os.geteuid() == 0:
        os.chown(run, 0, STRANGER)
    run.chmod(mode)
    if mode == 0o775 and os.geteuid() != 0:
        pytest.skip("the user's own group")
    with pytest.raises(UsageError, match="other users can write") as caught:
        run_folder(run)
    assert "chmod go-w" in caught.value.remedy


@ROOT
def test_a_strangers_directory_is_refused(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    give(run)
    with pytest.raises(UsageError, match="belongs to another user") as caught:
        run_folder(run)
    assert "cp -r" in caught.value.remedy


@ROOT
def test_a_strangers_link_on_the_way_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    run_folder(link / "run", make=True).close()
    assert (tmp_path / "real" / "run").is_dir()
    give(link)
    for path in (link, link / "run", link / "new"):
        with pytest.raises(UsageError, match="a link of another user"):
            run_folder(path, make=True)
    assert not (tmp_path / "real" / "new").exists()
    with pytest.raises(UsageError, match="a link of another user"), replacing(link / "x.csv"):
        pass


@ROOT
def test_what_sudo_makes_belongs_to_its_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_UID", str(STRANGER))
    monkeypatch.setenv("SUDO_GID", str(STRANGER))
    with run_folder(tmp_path / "a" / "b", make=True) as folder, folder.below("c") as below:
        below.write("x", b"x")
    for name in ("a", "a/b", "a/b/c", "a/b/c/x"):
        status = (tmp_path / name).stat()
        assert (status.st_uid, status.st_gid) == (STRANGER, STRANGER)
    run_folder(tmp_path / "a").close()


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("old")
    with run_folder(tmp_path) as folder:
        with pytest.raises(TypeError), folder.writing("x") as file:
            file.write("text")  # type: ignore[call-overload]
        assert [path.name for path in tmp_path.iterdir()] == ["x"]
        assert (tmp_path / "x").read_text() == "old"
        folder.write("x", b"new")
    assert (tmp_path / "x").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) & 0o022 == 0


def test_a_directory_that_is_swapped_gets_nothing(tmp_path: Path) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    run.mkdir()
    elsewhere.mkdir()
    with run_folder(run) as folder:
        assert folder.is_at_its_path()
        run.rename(tmp_path / "moved")
        run.symlink_to(elsewhere)
        assert not folder.is_at_its_path()
        folder.write("x", b"x")
    assert list(elsewhere.iterdir()) == []
    assert (tmp_path / "moved" / "x").exists()


def test_a_target_replaces_a_link_and_spares_devices(tmp_path: Path, victim: Path) -> None:
    link = tmp_path / "out.csv"
    link.symlink_to(victim)
    with replacing(link) as file:
        file.write(b"rows")
    assert (link.is_symlink(), link.read_text(), victim.read_text()) == (False, "rows", "precious")
    with replacing(Path("/dev/null")) as file:
        file.write(b"rows")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("what", ["pipe", "device", "directory", "socket"])
def test_only_plain_files_are_read_and_nobody_waits(tmp_path: Path, what: str) -> None:
    path = tmp_path / "x"
    match what:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "directory":
            path.mkdir()
        case _:
            subprocess.run(
                ["python3", "-c", f"import socket; socket.socket(1).bind('{path}')"], check=True
            )
    begun = cpu_s()
    with pytest.raises(UsageError, match="not a file"):
        open_plain(path)
    with pytest.raises(UsageError):
        read_plain(path, 10)
    assert cpu_s() - begun < 1


def test_a_link_is_no_file_of_ours(tmp_path: Path, victim: Path) -> None:
    link = tmp_path / "x"
    link.symlink_to(victim)
    with open_plain(link) as file:
        assert file.read() == b"precious"
    with pytest.raises(UsageError, match="a link"):
        open_own(link)
    with pytest.raises(UsageError, match="larger"):
        read_plain(victim, 3)
