"""One multiplexed connection of OpenSSH's client, with the user's own configuration and keys."""

from __future__ import annotations

import random
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

from culvert.errors import DeadlineExceeded, HostLost, LabError
from culvert.labs.hosts.listed.inventory import HostEntry
from culvert.labs.hosts.ssh.command import CONNECT_S, ssh_command
from culvert.labs.hosts.ssh.failures import LoginRefused, connection_error
from culvert.labs.hosts.ssh.printed import MOST_BYTES, Marks, Printed, last_line
from culvert.waiting import wait_until, within

REPEATS = 3
PAUSE_S = (0.5, 2.0)
"""Between logins that sshd refused at once, at random."""
FAREWELL_S = 3.0
BEAT_S = 10.0
WATCHED_S = 45.0
"""A login shell's start files (pyenv, nvm) may take long on a busy host."""
_FAILED = 255
"""The exit code of ssh itself; others are of the command there (ssh(1))."""
SILENCE_S = 30
"""After this time without a byte the shell there counts the connection as ended: an sshd whose
network was cut does not notice it."""
_WAITING = (
    "if timeout {silence_s} true 2>/dev/null; "
    'then while [ -n "$(timeout {silence_s} dd bs=1 count=1 2>/dev/null)" ]; do :; done; '
    "else cat >/dev/null; fi"
)


class SshConnection:
    """A master process; each command is a session of its connection."""

    def __init__(self, entry: HostEntry, socket: Path, farewell: str = ":") -> None:
        """``socket`` is a path in a directory of mode 0700. ``farewell`` is what a shell there runs
        when the connection ends, however that comes."""
        waiting = _WAITING.format(silence_s=SILENCE_S)
        self._marks = Marks()
        self._farewell = self._marks.around(f"{waiting}; {farewell}")
        self.entry = entry
        self._socket = socket
        quoted = str(socket).replace("%", "%%")  # ssh_config(5): an option's words, and its tokens
        self._control_path = f'ControlPath="{quoted}"'
        self._log = socket.with_suffix(".log")
        self._master: subprocess.Popen[bytes] | None = None
        self._printed: Printed | None = None
        self._is_connected = False
        self._closed = threading.Event()

    def open(self) -> None:
        """Connect. Raises HostLost with the reason, which may be a ``close`` meanwhile."""
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
        argv = ssh_command(
            self.entry,
            *("-M", "-T", "-E", str(self._log)),
            options=("ControlMaster=yes", "ControlPersist=no", self._control_path),
        )
        self._master = master = self._popen([*argv, self._farewell], stderr=subprocess.STDOUT)
        self._printed = Printed(master.stdout, master.kill)
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
        beating = (master, self._closed)
        threading.Thread(target=_beat, args=beating, name="connected", daemon=True).start()

    def wait_until_watched(self) -> None:
        """Return when the shell there watches the connection: from then on its farewell is sure to
        be run. Raises HostLost, and LabError for a login shell that runs no command."""
        try:
            wait_until(
                self._is_watched,
                what=f"host {self.entry.name}'s login shell had started",
                deadline_s=WATCHED_S,
                poll_s=0.01,
            )
        except DeadlineExceeded:
            raise self._no_shell(self._said()) from None

    def close(self) -> None:
        """Idempotent; ends an ``open`` in another thread."""
        self._closed.set()
        self._end()

    def _end(self) -> None:
        master, self._master = self._master, None
        if master is not None:
            if not self._is_connected:
                master.kill()
            if master.stdin is not None:
                with suppress(OSError):  # a last beat for a master that has ended
                    master.stdin.close()
            try:
                master.wait(timeout=FAREWELL_S)
            except subprocess.TimeoutExpired:
                master.kill()
                master.wait()
        self._is_connected = False
        for path in (self._socket, self._log):
            with suppress(OSError):
                path.unlink()

    def kill(self) -> None:
        if self._master is not None:
            self._master.kill()
            self._master.wait()

    def run(
        self,
        command: str,
        given: bytes = b"",
        *,
        timeout_s: float = 30.0,
        most_bytes: int = MOST_BYTES,
        last: bytes = b"",
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command with the login shell there, until it ends; what its start files print is
        left out. ``last`` is what a command prints before it reads a line: that it was heard.

        Raises HostLost, and LabError if it is not run or prints more than that."""
        marks, name = Marks(), f"host {self.entry.name}"
        process = self._popen(self._session(marks.around(command)))
        streams = [
            Printed(stream, process.kill, most=most_bytes)
            for stream in (process.stdout, process.stderr)
        ]

        def talk() -> None:
            assert process.stdin is not None
            with suppress(BrokenPipeError), process.stdin:
                process.stdin.write(given)
                if last:
                    process.stdin.flush()
                    streams[0].wait_for(last)
                    process.stdin.write(b"heard\n")
            for stream in streams:
                stream.join()
            process.wait()

        try:
            within(timeout_s, talk)
        except TimeoutError:
            raise HostLost(
                name,
                f"a command did not end within {timeout_s:g} s",
                "see whether the host is overloaded, or its login shell waits for input",
            ) from None
        finally:
            process.kill()
            process.wait()
        if any(stream.too_much for stream in streams):
            raise _flooded(name, most_bytes)
        if process.returncode == _FAILED and (self._is_flooded() or not self.alive()):
            raise self.lost()
        printed, errors = (stream.so_far() for stream in streams)
        answer, error = marks.inside(printed), marks.inside(errors)
        if answer is None or error is None:
            raise self._no_shell(errors, printed)
        return subprocess.CompletedProcess(process.args, process.returncode, answer, error)

    def start(self, command: str) -> subprocess.Popen[bytes]:
        """Start a command line of the login shell there; its streams are pipes."""
        return self._popen(self._session(command))

    def alive(self) -> bool:
        master = self._master  # another thread may close it
        return master is not None and master.poll() is None

    def lost(self) -> HostLost:
        """The error for a master that has ended."""
        if self._is_flooded():
            return _flooded(f"host {self.entry.name}", MOST_BYTES)
        text = self._log.read_text(errors="replace") if self._log.exists() else ""
        if not self._is_connected and self._printed is not None:  # the words of a jump host's ssh
            self._printed.join(FAREWELL_S)
            text = self._printed.so_far().decode(errors="replace") + text
        return connection_error(self.entry.name, self.entry.destination, text)

    def _is_flooded(self) -> bool:
        return self._printed is not None and self._printed.too_much

    def _is_open(self) -> bool:
        if not self.alive():
            raise self.lost()
        self._is_connected = self._socket.exists()
        return self._is_connected

    def _no_shell(self, *printed: bytes) -> LabError:
        return LabError(
            f"host {self.entry.name}",
            f"the login does not start a POSIX shell: {last_line(*printed) or 'no answer'}",
            "see whether `ssh HOST sh -c true` works: a login script may end the session",
        )

    def _other_input(self) -> LabError:
        return LabError(
            f"host {self.entry.name}",
            "commands do not read the data sent to them: the login shell gives them another input",
            "see whether `echo hello | ssh HOST cat` prints hello: a login script may pipe or "
            "redirect the input of commands",
        )

    def _said(self) -> bytes:
        return b"" if self._printed is None else self._printed.so_far()

    def _is_watched(self) -> bool:
        if not self.alive():
            master = self._master
            if master is None or master.returncode == _FAILED or self._is_flooded():
                raise self.lost()
            if self._printed is not None:
                self._printed.join(FAREWELL_S)
            if self._marks.after(self._said()) is not None:  # its input has ended, ours has not
                raise self._other_input()
            raise self._no_shell(self._said())
        return self._marks.after(self._said()) is not None

    def _popen(self, argv: list[str], *, stderr: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
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


def _flooded(name: str, most_bytes: int) -> HostLost:
    return HostLost(
        name,
        f"it printed more than {most_bytes >> 20} MiB at the login or in place of an answer",
        "let the start files of its login shell print nothing: see `ssh HOST true`",
    )


def _beat(master: subprocess.Popen[bytes], closed: threading.Event) -> None:
    """Shows the shell there that the connection lasts."""
    assert master.stdin is not None
    while not closed.wait(BEAT_S):
        try:
            master.stdin.write(b".")
            master.stdin.flush()
        except (OSError, ValueError):
            return
