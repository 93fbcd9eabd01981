"""The first script on a host, run here with few programs; logins that sshd refuses at random."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, cast

import pytest

from culvert import tools
from culvert.errors import HostLost, NotPossible
from culvert.labs.hosts import host
from culvert.labs.hosts.listed.inventory import HostEntry
from culvert.labs.hosts.remote.start import place_probe
from culvert.labs.hosts.ssh import bootstrap, connection
from culvert.labs.hosts.ssh.bootstrap import FirstContact, first_contact, script_of
from culvert.labs.hosts.ssh.connection import SshConnection
from culvert.labs.hosts.ssh.failures import LoginRefused

PROGRAMS = ("awk", "cat", "chmod", "date", "df", "id", "mkdir", "rm", "sh", "sudo", "tr", "uname")
"""Of the script, without od, as on a router."""
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

    def run(self, command: str, given: bytes, *, last: bytes) -> subprocess.CompletedProcess[bytes]:
        assert command == "exec sh -s"
        pipe, env = subprocess.PIPE, {"PATH": str(self.programs)}
        shell = subprocess.Popen(["/bin/sh", "-s"], stdin=pipe, stdout=pipe, stderr=pipe, env=env)
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdin.write(given)
        shell.stdin.flush()
        heard = b""
        while last not in heard and (line := shell.stdout.readline()):
            heard += line
        rest, errors = shell.communicate(b"heard\n", timeout=20)
        return subprocess.CompletedProcess(shell.args, shell.returncode, heard + rest, errors)


def contact(here: Path, monkeypatch: pytest.MonkeyPatch, dd: str | None) -> FirstContact:
    """``dd`` is a shell's script, or the path of the program."""
    programs = here / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        if (path := shutil.which(name)) is not None:
            (programs / name).symlink_to(path)
    if dd is not None:
        (programs / "dd").write_text(f"#!/bin/sh\n{dd}\n")
        (programs / "dd").chmod(0o700)
    monkeypatch.setattr(bootstrap, "DIRECTORIES", (str(here),))
    return first_contact(cast(SshConnection, Here(programs)), "abc123")


def test_the_order_of_bytes_is_found_without_od(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = contact(tmp_path, monkeypatch, f'exec {shutil.which("dd")} "$@"')
    assert found.big_endian is (sys.byteorder == "big")
    assert found.directory == str(tmp_path / "culvert-abc123")


@pytest.mark.parametrize(("byte", "big"), [("001", False), ("002", True), ("000", None)])
def test_it_is_that_of_a_program_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, byte: str, big: bool | None
) -> None:
    assert contact(tmp_path, monkeypatch, f"printf '\\{byte}'").big_endian is big


def test_an_unknown_order_is_refused_only_where_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = contact(tmp_path, monkeypatch, None)
    assert found.big_endian is None
    here = cast(SshConnection, Here(tmp_path))
    with pytest.raises(NotPossible, match="host router: it is mips, and its byte order"):
        place_probe(here, replace(found, machine="mips"))
    with pytest.raises(NotPossible, match="it is s390x, which has no probe"):
        place_probe(here, replace(found, machine="s390x"))


def test_what_was_refused_first_is_named_though_the_host_is_lost_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Losing:
        """It ends when the run's directory is to be removed."""

        entry = Here.entry
        closed = 0

        def open(self) -> None: ...
        def wait_until_watched(self) -> None: ...
        def alive(self) -> bool:
            return True

        def run(self, command: str) -> None:
            raise HostLost("host router", f"lost during {command}", "see it")

        def close(self) -> None:
            self.closed += 1

    found = replace(contact(tmp_path, monkeypatch, None), release="2.6.32")
    monkeypatch.setattr(host, "first_contact", lambda *_: found)
    losing = Losing()
    with pytest.raises(NotPossible, match=r"kernel 2\.6\.32 is older"):
        host.SshHost(losing.entry, "abc123", cast(SshConnection, losing)).open()
    assert losing.closed == 2  # before it was opened, and at the end


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
