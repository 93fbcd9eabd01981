"""The first script on a host, run here with few programs; logins that sshd refuses at random."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, cast

import pytest

from culvert import tools
from culvert.errors import HostLost
from culvert.labs.hosts import host
from culvert.labs.hosts.listed.inventory import HostEntry
from culvert.labs.hosts.ssh import bootstrap, connection
from culvert.labs.hosts.ssh.bootstrap import first_contact, script_of
from culvert.labs.hosts.ssh.connection import SshConnection
from culvert.labs.hosts.ssh.failures import LoginRefused

PROGRAMS = ("awk", "cat", "chmod", "date", "df", "id", "mkdir", "rm", "sh", "sudo", "uname")
"""Of the script, as on a router."""
_SSH = """\
#!/bin/sh
echo >> {calls}
if [ "$(wc -l < {calls})" -le {refused} ]; then
  echo "kex_exchange_identification: Connection closed by remote host" >&2; exit 255
fi
for word; do case $word in ControlPath=*) eval ": > ${{word#ControlPath=}}";; esac; done
exec cat
"""


@dataclass(frozen=True)
class Here:
    """A connection to this machine's shell, which finds the programs of one directory."""

    programs: Path
    entry: ClassVar[HostEntry] = HostEntry("router", "192.0.2.1")

    def start(self, command: str) -> subprocess.Popen[bytes]:
        assert command == "exec sh -s"
        pipe, env = subprocess.PIPE, {"PATH": str(self.programs)}
        return subprocess.Popen(["/bin/sh", "-s"], stdin=pipe, stdout=pipe, env=env)


@pytest.fixture
def router(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SshConnection:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        if (path := shutil.which(name)) is not None:
            (programs / name).symlink_to(path)
    monkeypatch.setattr(bootstrap, "DIRECTORIES", (str(tmp_path),))
    return cast(SshConnection, Here(programs))


def test_few_programs_are_enough(tmp_path: Path, router: SshConnection) -> None:
    with first_contact(router, "abc123") as found:
        assert (found.machine, found.user) == (os.uname().machine, os.getuid())
        assert found.directory == str(tmp_path / "culvert-abc123")
    assert Path(found.directory).is_dir()


def test_an_error_after_the_first_contact_removes_the_directory(
    tmp_path: Path, router: SshConnection
) -> None:
    class Losing:
        """It ends when a program is run there."""

        entry, closed = Here.entry, 0

        def open(self) -> None: ...
        def start(self, command: str) -> subprocess.Popen[bytes]:
            return router.start(command)

        def run(self, *_: object, **__: object) -> None:
            raise HostLost("host router", "the connection was lost", "see it")

        def close(self) -> None:
            self.closed += 1

    losing = Losing()
    with pytest.raises(HostLost, match="the connection was lost"):
        host.SshHost(losing.entry, "abc123", cast(SshConnection, losing)).open()
    assert losing.closed == 2  # before it was opened, and at the end
    assert not (tmp_path / "culvert-abc123").exists()


def opened(here: Path, monkeypatch: pytest.MonkeyPatch, refused: int) -> int:
    """Opens a connection whose first logins are refused; returns the number of logins."""
    calls, ssh = here / "calls", here / "ssh"
    ssh.write_text(_SSH.format(calls=calls, refused=refused))
    ssh.chmod(0o700)
    monkeypatch.setattr(tools, "require", lambda name, remedy: ssh)
    monkeypatch.setattr(connection, "PAUSE_S", (0.0, 0.01))
    made = SshConnection(HostEntry("far", "192.0.2.1"), here / "socket")
    try:
        made.open()
        assert made.alive()
    finally:
        made.close()
        logins = len(calls.read_text().splitlines())
    return logins


@pytest.mark.parametrize("refused", [0, 1, connection.REPEATS])
def test_a_refused_login_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: int
) -> None:
    assert opened(tmp_path, monkeypatch, refused) == refused + 1


def test_repeats_have_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LoginRefused, match="closed the connection at once"):
        opened(tmp_path, monkeypatch, 100)
    assert len((tmp_path / "calls").read_text().splitlines()) == connection.REPEATS + 1


def test_other_failures_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}._SSH", _SSH.replace("kex_exchange_identification: ", "x: "))
    with pytest.raises(HostLost, match="x: Connection closed"):
        opened(tmp_path, monkeypatch, 100)
    assert len((tmp_path / "calls").read_text().splitlines()) == 1


@pytest.mark.parametrize("reads", [False, True])
def test_a_directory_that_nobody_hears_of_is_removed(tmp_path: Path, reads: bool) -> None:
    """The controller may be killed after the watcher's farewell and before the directory is made:
    then nothing is answered, whether the connection still takes what the script prints or not."""
    gone = tmp_path / "gone"
    os.mkfifo(gone)
    for number, ends_before in enumerate((b"directory=$place", b"say directory")):
        place = tmp_path / str(number)
        place.mkdir()
        script = (
            script_of("abc123", [str(place)])
            .encode()
            .replace(ends_before, b"read unheard < gone; " + ends_before, 1)
        )
        shell = subprocess.Popen(
            ["sh", "-s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path
        )
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdin.write(script)
        shell.stdin.close()
        with gone.open("w") as told:  # opens once the shell waits there
            if not reads:
                shell.stdout.close()
            told.write("now\n")
        if reads:
            assert b"\ndirectory\t" in shell.stdout.read()
            shell.stdout.close()
        shell.wait(timeout=20)
        assert not list(place.iterdir())
