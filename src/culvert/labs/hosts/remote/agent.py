"""The agent of a host: requests and answers over one session of its connection.

See docs/probe-protocol.md (``culvert-probe host``).
"""

from __future__ import annotations

import base64
import subprocess
import threading
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

from culvert.errors import HostLost, LabError
from culvert.exchange import Exchange
from culvert.labs.hosts.ssh.connection import SshConnection

ANSWER_S = 30.0
END_S = 30.0
"""The host removes everything within a second, or takes its time if it is overloaded."""
BEAT_S = 2.0
SOMETHING_REMAINS = 1
"""Its exit code (crates/probe/src/host/guard.rs)."""


class Agent(Exchange):
    """``start`` first; ``close`` ends everything on the host. Its errors for an agent that has
    ended are HostLost."""

    def __init__(
        self,
        name: str,
        connection: SshConnection,
        command: str,
    ) -> None:
        """``command`` starts it there."""
        self.name = name
        self._connection = connection
        self._channel = channel = connection.start(command)
        super().__init__(channel.stdin, channel.stdout, f"host {name}", self._lost)
        self._closed = threading.Event()
        self.has_removed = False
        """Whether its guard has removed all, or has named what remains; once it is closed."""
        self.directory = PurePosixPath()
        """The run's files, as its programs see them; once it has begun."""
        self._ready = self.expect(0, "start")
        self._beating = threading.Thread(target=self._beat, name=f"beat-{name}", daemon=True)

    def start(self, first: bytes, *, timeout_s: float) -> None:
        """Send what sudo reads, then wait until the agent is ready."""
        if first:
            assert self._channel.stdin is not None
            with suppress(OSError):
                self._channel.stdin.write(first)
                self._channel.stdin.flush()
        self.begin()
        try:
            self.directory = PurePosixPath(self._ready.next(timeout_s)["directory"])
        except HostLost:
            raise self._not_started() from None
        self._beating.start()

    def call(self, do: str, *, timeout_s: float = ANSWER_S, **parameters: Any) -> Any:
        replies = self.open(do, **parameters)
        try:
            return replies.next(timeout_s).get("result")
        finally:
            replies.forget()

    def alive(self) -> bool:
        return not self._closed.is_set() and self._channel.poll() is None

    def _lost(self, during: str) -> LabError:
        del during
        if not self._connection.alive():
            return self._connection.lost()
        printed = self._printed()
        return HostLost(
            f"host {self.name}",
            "its agent has ended" + (f": {printed[-1]}" if printed else ""),
            "see whether something on the host kills processes; then continue with --resume",
        )

    def give_up(self) -> None:
        self._channel.kill()
        self._channel.wait()

    def close(self, *, wait_s: float = END_S) -> list[str]:
        """End of input: the host removes everything. Returns what it says remains, or that it did
        not answer in time. Idempotent."""
        self._closed.set()
        channel = self._channel
        with suppress(OSError, ValueError):
            if channel.stdin is not None:
                channel.stdin.close()
        problems = []
        try:
            code = channel.wait(timeout=wait_s)
            self.has_removed = code in (0, SOMETHING_REMAINS)
            if code != 0 and wait_s:
                problems = self._printed() or [f"its agent ended with exit code {code}"]
        except subprocess.TimeoutExpired:
            channel.kill()
            channel.wait()
            if wait_s:
                problems = [f"its agent did not end within {wait_s:g} s"]
        self.join(2)
        if self._beating.is_alive() and self._beating is not threading.current_thread():
            self._beating.join(timeout=2)
        return problems

    def _not_started(self) -> LabError:
        printed = self._printed()
        if not self._connection.alive():
            return self._connection.lost()
        return LabError(
            f"host {self.name}",
            "its agent did not start: " + (printed[-1] if printed else "no answer"),
            "if the host has another C library: make probe-static builds a probe that needs none",
        )

    def _printed(self) -> list[str]:
        text = self._connection.errors()
        return [line.strip() for line in text.splitlines() if line.strip()]

    def _beat(self) -> None:
        """Shows the host that the controller lives."""
        while not self._closed.wait(BEAT_S):
            with suppress(LabError):
                self.post("beat")
            if not self.alive():
                return


def encoded(data: bytes) -> str:
    """Bytes as the protocol has them."""
    return base64.b64encode(data).decode()


def decoded(text: Any) -> bytes:
    """The bytes of an answer."""
    return base64.b64decode(text) if isinstance(text, str) else b""
