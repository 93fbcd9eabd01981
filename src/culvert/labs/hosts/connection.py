"""One multiplexed connection of OpenSSH's client, with the user's own configuration and keys."""

from __future__ import annotations

import random
import shlex
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from culvert import tools
from culvert.errors import DeadlineExceeded
from culvert.labs.hosts.complaints import HostLost, LoginRefused, connection_error
from culvert.labs.hosts.entry import HostEntry
from culvert.waiting import wait_until

CONNECT_S = 15
ALIVE_S = 5
ALIVE_COUNT = 3
"""A connection without an answer for ALIVE_S x ALIVE_COUNT seconds is given up."""
REPEATS = 3
PAUSE_S = (0.5, 2.0)
"""Between logins that sshd refused at once, at random."""
FAREWELL_S = 3.0
BEAT_S = 10.0
WATCHED_S = 15.0
"""A login shell's start files may take some seconds on a busy host."""
_WATCHED = "culvert: watched"
SILENCE_S = 30
"""After this time without a byte the shell there counts the connection as ended: an sshd whose
network was cut does not notice it."""
_WAITING = (
    "if timeout {silence_s} true 2>/dev/null; "
    'then while [ -n "$(timeout {silence_s} dd bs=1 count=1 2>/dev/null)" ]; do :; done; '
    "else cat >/dev/null; fi"
)
KNOWN_KEYS_ONLY = ("StrictHostKeyChecking=yes", "UpdateHostKeys=no")
"""Unknown and changed host keys are refused, and none is added to known_hosts."""
_OPTIONS = (
    "BatchMode=yes",
    *KNOWN_KEYS_ONLY,
    f"ConnectTimeout={CONNECT_S}",
    f"ServerAliveInterval={ALIVE_S}",
    f"ServerAliveCountMax={ALIVE_COUNT}",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    "LogLevel=ERROR",
)
"""They come first, so that nothing in the user's configuration weakens them (ssh_config(5): the
first value counts)."""


class Connection:
    """A master process; each command is a session of its connection."""

    def __init__(self, entry: HostEntry, socket: Path, farewell: str = ":") -> None:
        """``socket`` is a path in a directory of mode 0700. ``farewell`` is what a shell there runs
        when the connection ends, however that comes."""
        waiting = _WAITING.format(silence_s=SILENCE_S)
        self._farewell = (
            f"exec sh -c {shlex.quote(f'echo {shlex.quote(_WATCHED)}; {waiting}; {farewell}')}"
        )
        self.entry = entry
        self._socket = socket
        self._log = socket.with_suffix(".log")
        self._master: subprocess.Popen[bytes] | None = None
        self._closed = threading.Event()

    def open(self) -> None:
        """Connect. Raises HostLost with the reason."""
        for _ in range(REPEATS):
            try:
                self._open_once()
            except LoginRefused:
                # sshd refuses logins at random while many are under way (MaxStartups): many hosts
                # behind one jump host must not all come again at the same time.
                time.sleep(random.uniform(*PAUSE_S))  # noqa: S311 - not a secret
            else:
                return
        self._open_once()

    def _open_once(self) -> None:
        self.close()
        argv = self._argv("-M", "-T", options=("ControlMaster=yes", "ControlPersist=no"))
        with self._log.open("wb") as log:
            self._master = subprocess.Popen(
                [*argv, self._farewell],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            wait_until(
                self._is_open,
                what=f"the connection to host {self.entry.name}",
                deadline_s=CONNECT_S + 5,
                poll_s=0.01,
            )
        except DeadlineExceeded:
            self.close()
            raise connection_error(self.entry.name, self.entry.destination, "timed out") from None
        except BaseException:
            self.close()
            raise
        self._closed = threading.Event()
        beating = (self._master, self._closed)
        threading.Thread(target=_beat, args=beating, name="connected", daemon=True).start()

    def wait_until_watched(self) -> None:
        """Return when the shell there watches the connection: from then on its farewell is sure to
        be run. Raises HostLost, DeadlineExceeded."""
        wait_until(
            self._is_watched,
            what=f"host {self.entry.name}'s login shell had started",
            deadline_s=WATCHED_S,
            poll_s=0.01,
        )

    def close(self) -> None:
        """Idempotent."""
        self._closed.set()
        if self._master is not None:
            if self._master.stdin is not None:
                with suppress(OSError):  # a last beat for a master that has ended
                    self._master.stdin.close()
            try:
                self._master.wait(timeout=FAREWELL_S)
            except subprocess.TimeoutExpired:
                self._master.kill()
                self._master.wait()
            self._master = None
        for path in (self._socket, self._log):
            with suppress(OSError):
                path.unlink()

    def kill(self) -> None:
        """End the connection without notice."""
        if self._master is not None:
            self._master.kill()
            self._master.wait()

    def run(
        self, command: str, given: bytes = b"", *, timeout_s: float = 30.0
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command with the login shell there, until it ends. Raises HostLost."""
        try:
            done = subprocess.run(
                self._session(command),
                input=given,
                capture_output=True,
                timeout=timeout_s,
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            raise HostLost(
                f"host {self.entry.name}",
                f"a command did not end within {timeout_s:g} s",
                "see whether the host is overloaded",
            ) from None
        if done.returncode == 255 and not self.alive():
            raise self.lost()
        return done

    def start(self, command: str, log: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a command whose streams are pipes."""
        return subprocess.Popen(
            self._session(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # Ctrl-C is the controller's, which then ends it in order
        )

    def alive(self) -> bool:
        """Whether the master runs."""
        return self._master is not None and self._master.poll() is None

    def lost(self) -> HostLost:
        """The error for a master that has ended."""
        text = self._log.read_text(errors="replace") if self._log.exists() else ""
        return connection_error(
            self.entry.name, self.entry.destination, text.replace(f"{_WATCHED}\n", "")
        )

    def _is_open(self) -> bool:
        if not self.alive():
            raise self.lost()
        return self._socket.exists()

    def _is_watched(self) -> bool:
        if not self.alive():
            raise self.lost()
        return _WATCHED in self._log.read_text(errors="replace")

    def _session(self, command: str) -> list[str]:
        return [*self._argv("-T", options=("ControlMaster=no",)), command]

    def _argv(self, *words: str, options: tuple[str, ...]) -> list[str]:
        entry = self.entry
        argv = [str(tools.require("ssh", "apt-get install openssh-client")), *words]
        for option in (*_OPTIONS, *options, f"ControlPath={self._socket}"):
            argv += ["-o", option]
        if entry.port is not None:
            argv += ["-p", str(entry.port)]
        if entry.user is not None:
            argv += ["-l", entry.user]
        if entry.key_file is not None:
            argv += ["-i", entry.key_file]
        return [*argv, *entry.arguments, "--", entry.destination]


def _beat(master: subprocess.Popen[bytes], closed: threading.Event) -> None:
    """Shows the shell there that the connection lasts."""
    assert master.stdin is not None
    while not closed.wait(BEAT_S):
        try:
            master.stdin.write(b".")
            master.stdin.flush()
        except (OSError, ValueError):
            return
