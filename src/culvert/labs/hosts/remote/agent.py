"""The agent of a host: requests and answers over one session of its connection.

See docs/probe-protocol.md (``culvert-probe host``).
"""

from __future__ import annotations

import base64
import os
import queue
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

from culvert.errors import DeadlineExceeded, LabError, ProbeError
from culvert.exchange import Event, Exchange, Replies
from culvert.labs.hosts.ssh.connection import SshConnection
from culvert.labs.hosts.ssh.failures import HostLost
from culvert.labs.hosts.ssh.printed import Marks, Printed

ANSWER_S = 30.0
END_S = 30.0
"""The host removes everything within a second, or takes its time if it is overloaded."""
BEAT_S = 2.0
PRINTED_S = 1.0
"""Longest time until what an agent that has ended printed is read."""


class Stream:
    """The events of one request."""

    def __init__(self, agent: Agent, replies: Replies) -> None:
        self._agent = agent
        self._replies = replies
        self.number = replies.number

    def next(self, timeout_s: float | None) -> Event:
        """The next event. Raises DeadlineExceeded, HostLost; for an error OSError or ProbeError."""
        try:
            event = self._replies.next(timeout_s)
        except queue.Empty:
            raise DeadlineExceeded(
                f"host {self._agent.name}",
                f"no answer within {timeout_s:g} s",
                "see whether the host is overloaded",
            ) from None
        if event is None:
            raise self._agent.lost()
        if event.get("event") == "error":
            raise _error(self._agent.name, event)
        return event

    def forget(self) -> None:
        self._agent.forget(self.number)


class Agent:
    """Thread-safe. ``begin`` first; ``close`` ends everything on the host."""

    def __init__(
        self,
        name: str,
        connection: SshConnection,
        channel: subprocess.Popen[bytes],
        marks: Marks,
    ) -> None:
        self.name = name
        self._connection = connection
        self._channel = channel
        self._marks = marks
        self._errors = Printed(channel.stderr, channel.kill)
        self._exchange = Exchange(channel.stdin, channel.stdout, f"agent-{name}")
        self._closed = threading.Event()
        self.directory = PurePosixPath()
        """The run's files, as its programs see them; once it has begun."""
        self._ready = Stream(self, self._exchange.expect(0))
        self._beating = threading.Thread(target=self._beat, name=f"beat-{name}", daemon=True)

    def begin(self, first: bytes, *, timeout_s: float) -> None:
        """Send what sudo reads, then wait until the agent is ready."""
        if first:
            assert self._channel.stdin is not None
            with suppress(OSError):
                self._channel.stdin.write(first)
                self._channel.stdin.flush()
        self._exchange.begin()
        try:
            self.directory = PurePosixPath(self._ready.next(timeout_s)["directory"])
        except HostLost:
            raise self._not_started() from None
        self._beating.start()

    def call(self, do: str, *, timeout_s: float = ANSWER_S, **parameters: Any) -> Any:
        stream = self.open(do, **parameters)
        try:
            return stream.next(timeout_s).get("result")
        finally:
            stream.forget()

    def open(self, do: str, **parameters: Any) -> Stream:
        """A request with several events. Raises HostLost."""
        try:
            return Stream(self, self._exchange.open(do, **parameters))
        except (OSError, ValueError):
            raise self.lost() from None

    def post(self, do: str, **parameters: Any) -> None:
        """A request whose answer nobody reads. Raises HostLost."""
        try:
            self._exchange.post(do, **parameters)
        except (OSError, ValueError):
            raise self.lost() from None

    def forget(self, number: int) -> None:
        self._exchange.forget(number)

    def alive(self) -> bool:
        return not self._closed.is_set() and self._channel.poll() is None

    def lost(self) -> HostLost:
        """The error for a session that has ended."""
        if not self._connection.alive():
            return self._connection.lost()
        printed = self._printed()
        return HostLost(
            f"host {self.name}",
            "its agent has ended" + (f": {printed[-1]}" if printed else ""),
            "see whether something there kills processes; then continue with --resume",
        )

    def give_up(self) -> None:
        """End the session without notice."""
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
            if code != 0 and wait_s:
                problems = self._printed() or [f"its agent ended with exit code {code}"]
        except subprocess.TimeoutExpired:
            channel.kill()
            channel.wait()
            if wait_s:
                problems = [f"its agent did not end within {wait_s:g} s"]
        self._exchange.join(2)
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
            "see whether sudo accepts the password, and the directory allows programs",
        )

    def _printed(self) -> list[str]:
        self._errors.join(PRINTED_S)
        printed = self._errors.so_far()
        text = (self._marks.after(printed) or b"").decode(errors="replace")
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


def _error(name: str, event: Mapping[str, Any]) -> Exception:
    errno, why = event.get("errno"), str(event.get("why", "no reason given"))
    if isinstance(errno, int):
        return OSError(errno, os.strerror(errno), str(event.get("what", "")))
    return ProbeError(
        f"host {name}: {event.get('what', '?')}", why, str(event.get("remedy", "report it"))
    )
