"""One multiplexed connection of OpenSSH's client, with the user's own configuration and keys."""

from __future__ import annotations

import os
import random
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO

from culvert.errors import DeadlineExceeded, HostLost, LabError
from culvert.labs.hosts.listed.inventory import HostEntry
from culvert.labs.hosts.ssh.command import CONNECT_S, ssh_command
from culvert.labs.hosts.ssh.failures import LoginRefused, connection_error, last_line
from culvert.waiting import wait_until

REPEATS = 3
PAUSE_S = (0.5, 2.0)
"""Between logins that sshd refused at once, at random."""
END_S = 3.0
_FAILED = 255
"""The exit code of ssh itself; others are of the command there (ssh(1))."""


class SshConnection:
    """A master process; each command is a session of its connection."""

    def __init__(self, entry: HostEntry, socket: Path) -> None:
        """``socket`` is a path in a directory of mode 0700."""
        self.entry = entry
        self._socket = socket
        quoted = str(socket).replace("%", "%%")  # ssh_config(5): an option's words, and its tokens
        self._control_path = f'ControlPath="{quoted}"'
        self._said = b""
        self._errors = socket.with_suffix(".errors")
        self._master: subprocess.Popen[bytes] | None = None
        self._closed = threading.Event()

    def open(self) -> None:
        """Connect. Raises HostLost with the reason, which may be a ``close`` meanwhile; LabError
        for a login that runs no command."""
        self.close()
        self._closed = closed = threading.Event()
        for _ in range(REPEATS):
            try:
                self._open_once()
            except LoginRefused:
                # sshd refuses logins at random while many are under way (MaxStartups): many hosts
                # behind one jump host must not all come again at the same time.
                if closed.wait(random.uniform(*PAUSE_S)):  # noqa: S311 - not a secret
                    raise
            else:
                return
        self._open_once()

    def _open_once(self) -> None:
        self._end()
        options = ("ControlMaster=yes", "ControlPersist=no", self._control_path)
        # The command reads until this process ends, and the master ends with it.
        argv = [*ssh_command(self.entry, "-M", "-T", options=options), "cat >/dev/null"]
        # A pipe, not a file: what is printed without an end fills no disk, and stops with this
        # process.
        self._master = self._popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self._said = b""
        try:
            wait_until(
                self._is_open,
                what=f"the connection to host {self.entry.name}",
                deadline_s=CONNECT_S + 5,
                poll_s=0.01,
            )
        except DeadlineExceeded:
            self._end()
            raise connection_error(self.entry.name, self.entry.destination, "timed out") from None
        except BaseException:
            self._end()
            raise

    def close(self) -> None:
        """Idempotent; ends an ``open`` in another thread."""
        self._closed.set()
        self._end()

    def _end(self) -> None:
        master, self._master = self._master, None
        if master is not None:
            if not self._socket.exists():  # it is connecting
                master.kill()
            assert master.stdin is not None
            assert master.stdout is not None
            master.stdin.close()
            try:
                master.wait(timeout=END_S)
            except subprocess.TimeoutExpired:
                master.kill()
                master.wait()
            master.stdout.close()
        for path in (self._socket, self._errors):
            path.unlink(missing_ok=True)

    def kill(self) -> None:
        if self._master is not None:
            self._master.kill()
            self._master.wait()

    def run(
        self, command: str, given: bytes = b"", *, timeout_s: float = 30.0
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command with the login shell there, until it ends. Raises HostLost."""
        pipe, argv = subprocess.PIPE, self._session(command)
        with self._popen(argv, stdout=pipe, stderr=pipe) as process:
            try:
                printed, errors = process.communicate(given, timeout=timeout_s)
            except subprocess.TimeoutExpired:
                raise HostLost(
                    f"host {self.entry.name}",
                    f"a command did not end within {timeout_s:g} s",
                    "see whether the host is overloaded, or its login shell waits for input",
                ) from None
            finally:
                process.kill()
        if process.returncode == _FAILED and self.has_ended():
            raise self.lost()
        return subprocess.CompletedProcess(process.args, process.returncode, printed, errors)

    def start(self, command: str) -> subprocess.Popen[bytes]:
        """Start a command line of the login shell there; its input and output are pipes."""
        with self._errors.open("wb") as errors:
            return self._popen(self._session(command), stdout=subprocess.PIPE, stderr=errors)

    def errors(self) -> str:
        """What the command that was started last, and start files, printed on standard error."""
        return self._errors.read_text(errors="replace") if self._errors.exists() else ""

    def alive(self) -> bool:
        master = self._master  # another thread may close it
        return master is not None and master.poll() is None

    def lost(self) -> LabError:
        """The error for a master that has ended."""
        master = self._master
        if master is not None and master.stdout is not None:
            with suppress(ValueError):  # another thread has closed it
                os.set_blocking(master.stdout.fileno(), False)  # a jump host's ssh may live on
                self._said += master.stdout.read() or b""
        text = self._said.decode(errors="replace")
        if master is not None and master.returncode in range(_FAILED):  # of the command there
            return LabError(
                f"host {self.entry.name}",
                f"the login does not start a POSIX shell: {last_line(text) or 'no answer'}",
                "see whether `ssh HOST sh -c true` works: a login script may end the session",
            )
        return connection_error(self.entry.name, self.entry.destination, text)

    def has_ended(self) -> bool:
        """Whether the master has, a moment after a session of it failed."""
        master = self._master
        if master is not None:
            with suppress(subprocess.TimeoutExpired):
                master.wait(timeout=1)
        return not self.alive()

    def _is_open(self) -> bool:
        if not self.alive():
            raise self.lost()
        return self._socket.exists()

    def _popen(
        self, argv: list[str], *, stdout: int | IO[bytes], stderr: int | IO[bytes]
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,  # Ctrl-C is the controller's, which then ends it in order
            )
        except OSError as error:
            raise LabError(
                f"host {self.entry.name}",
                f"ssh cannot be started: {error.strerror}",
                "use fewer hosts at a time, or permit more files and processes (ulimit -n, -u)",
            ) from error

    def _session(self, command: str) -> list[str]:
        options = ("ControlMaster=no", self._control_path)
        return [*ssh_command(self.entry, "-T", options=options), command]
