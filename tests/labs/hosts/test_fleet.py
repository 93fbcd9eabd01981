"""The directories of sockets that dead controllers left: ours are removed, no other is touched."""

from __future__ import annotations

import fcntl
import os
import tempfile
import threading
import time
from pathlib import Path

import pytest

from culvert.errors import HostLost
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.host import SshHost
from culvert.labs.hosts.listed.inventory import HostEntry, Inventory
from culvert.labs.hosts.ssh.connection import SshConnection
from culvert.run import hosts_check
from culvert.run.hosts_check import HostFound
from culvert.runid import new_run_id


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def made(place: Path, name: str) -> Path:
    directory = place / f"culvert-ssh-{name}"
    directory.mkdir()
    (directory / "lock").write_text("abcdef\n")
    return directory


def open_fleet() -> float:
    begun = time.monotonic()
    Fleet(Inventory(Path("hosts.yml"), ()), new_run_id()).close()
    return time.monotonic() - begun


def test_a_dead_one_is_removed_and_one_in_use_stays(place: Path) -> None:
    dead, live = made(place, "dead"), made(place, "live")
    with (live / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        open_fleet()
    assert [path.name for path in place.iterdir()] == [live.name]
    assert not dead.exists()


def test_one_that_is_being_made_stays(place: Path) -> None:
    """Its lock exists, and is held a moment later."""
    made(place, "x").joinpath("lock").write_text("")
    open_fleet()
    assert (place / "culvert-ssh-x" / "lock").exists()


def test_one_in_use_is_not_one_that_is_being_made(place: Path) -> None:
    with Fleet(Inventory(Path("hosts.yml"), ()), new_run_id()):
        (lock,) = place.glob("culvert-ssh-*/lock")
        assert lock.read_text()


def test_what_remains_on_a_host_is_a_warning(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(SshHost, "close", lambda _: ["the device wg0 cannot be removed"])
    with Fleet(Inventory(Path("hosts.yml"), (HostEntry("a", "a"),)), new_run_id()):
        pass
    assert capsys.readouterr().err == "warning: host a: the device wg0 cannot be removed\n"


@pytest.mark.parametrize("stay", [False, True])
def test_a_check_says_what_remains_on_a_host(
    place: Path, monkeypatch: pytest.MonkeyPatch, stay: bool
) -> None:
    monkeypatch.setattr(hosts_check, "_look_at", lambda host: HostFound(host.name))
    monkeypatch.setattr(SshHost, "close", lambda _: ["a process does not end"])
    fleet = Fleet(Inventory(Path("hosts.yml"), (HostEntry("a", "a"),)), new_run_id())
    (found,) = hosts_check.hosts_found(fleet, stay=stay)
    assert [problem.why for problem in found.problems] == ["a process does not end"] * (not stay)
    assert fleet.close() == ["host a: a process does not end"]


def test_a_pipe_in_the_lock_s_place_stops_nobody(place: Path) -> None:
    (made(place, "x") / "lock").unlink()
    os.mkfifo(place / "culvert-ssh-x" / "lock")
    assert open_fleet() < 1


def test_a_link_is_not_followed(place: Path) -> None:
    victim = place / "victim"
    victim.mkdir()
    (victim / "lock").touch()
    (place / "culvert-ssh-x").symlink_to(victim)
    (made(place, "y") / "lock").unlink()
    (place / "culvert-ssh-y" / "lock").symlink_to(victim / "lock")
    open_fleet()
    assert (victim / "lock").exists()
    assert (place / "culvert-ssh-y").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_another_user_s_is_left_alone(place: Path) -> None:
    theirs = made(place, "x")
    os.chown(theirs, 65_533, 65_533)
    open_fleet()
    assert (theirs / "lock").exists()


def test_the_end_does_not_wait_for_hosts_that_do_not_answer(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, tried = threading.Semaphore(0), []

    def never_answers(connection: SshConnection) -> None:
        begun.release()
        tried.append(connection._closed.wait(60))
        raise HostLost(connection.entry.name, "was closed", "none")

    monkeypatch.setattr(SshConnection, "open", never_answers)
    monkeypatch.setattr("culvert.labs.together.AT_ONCE", 2)
    monkeypatch.setattr(SshConnection, "close", lambda connection: connection._closed.set())
    hosts = tuple(HostEntry(name, name) for name in "abc")
    fleet = Fleet(Inventory(Path("hosts.yml"), hosts), new_run_id())
    monkeypatch.setattr(SshHost, "open", lambda host: host.connection.open())
    fleet.begin(hosts)
    for _ in range(2):
        assert begun.acquire(timeout=10)
    fleet.close()
    assert tried == [True, True]  # the third was not begun
