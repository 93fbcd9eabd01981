"""The agent of a host: requests and answers over one session of its connection.

See docs/probe-protocol.md (``culvert-probe host``).
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import queue
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

from culvert.errors import DeadlineExceeded, LabError, ProbeError
from culvert.files.json_text import read_json
from culvert.labs.hosts.ssh.connection import SshConnection
from culvert.labs.hosts.ssh.failures import HostLost
from culvert.labs.hosts.ssh.printed import Marks, Printed

Event = dict[str, Any]
_GONE: Event = {"event": "gone"}
ANSWER_S = 30.0
END_S = 30.0
"""The host removes everything within a second, or takes its time if it is overloaded."""
BEAT_S = 2.0
PRINTED_S = 1.0
"""Longest time until what an agent that has ended printed is read."""
MOST_LINE = 64 << 20
"""A longer one is no answer: it ends the session."""


class Stream:
    """The events of one request."""

    def __init__(self, agent: Agent, number: int) -> None:
        self._agent = agent
        self._events: queue.Queue[Event] = queue.Queue()
        self.number = number

    def deliver(self, event: Event) -> None:
        """Called by the reader thread."""
        self._events.put(event)

    def next(self, timeout_s: float | None) -> Event:
        """The next event. Raises DeadlineExceeded, HostLost; for an error OSError or ProbeError."""
        try:
            event = self._events.get(timeout=timeout_s)
        except queue.Empty:
            raise DeadlineExceeded(
                f"host {self._agent.name}",
                f"no answer within {timeout_s:g} s",
                "see whether the host is overloaded",
            ) from None
        match event.get("event"):
            case "gone":
                raise self._agent.lost()
            case "error":
                raise _error(self._agent.name, event)
        return event

    def forget(self) -> None:
        """No further event is wanted."""
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
        self._numbers = itertools.count(1)
        self._streams: dict[int, Stream] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self.directory = PurePosixPath()
        """The run's files, as its programs see them; once it has begun."""
        self._ready = Stream(self, 0)
        self._streams[0] = self._ready
        self._threads = [
            threading.Thread(target=work, name=f"{what}-{name}", daemon=True)
            for what, work in (("agent", self._read), ("beat", self._beat))
        ]

    def begin(self, first: bytes, *, timeout_s: float) -> None:
        """Send what sudo reads, then wait until the agent is ready."""
        if first:
            assert self._channel.stdin is not None
            with suppress(OSError):
                self._channel.stdin.write(first)
                self._channel.stdin.flush()
        self._threads[0].start()
        try:
            self.directory = PurePosixPath(self._ready.next(timeout_s)["directory"])
        except HostLost:
            raise self._not_started() from None
        self._threads[1].start()

    def call(self, do: str, *, timeout_s: float = ANSWER_S, **parameters: Any) -> Any:
        """One request and its result."""
        stream = self.open(do, **parameters)
        try:
            return stream.next(timeout_s).get("result")
        finally:
            stream.forget()

    def open(self, do: str, **parameters: Any) -> Stream:
        """A request with several events."""
        with self._lock:
            stream = Stream(self, next(self._numbers))
            self._streams[stream.number] = stream
        self.send(stream.number, do, **parameters)
        return stream

    def send(self, number: int, do: str, **parameters: Any) -> None:
        """Write one request. Raises HostLost."""
        request = {"id": number, "do": do, **_without_none(parameters)}
        line = json.dumps(request, separators=(",", ":")).encode() + b"\n"
        pipe = self._channel.stdin
        assert pipe is not None
        try:
            with self._lock:
                pipe.write(line)
                pipe.flush()
        except (OSError, ValueError):
            raise self.lost() from None

    def post(self, do: str, **parameters: Any) -> None:
        """A request whose answer nobody reads."""
        with self._lock:
            number = next(self._numbers)
        self.send(number, do, **parameters)

    def forget(self, number: int) -> None:
        """Drop later events of a request."""
        with self._lock:
            self._streams.pop(number, None)

    def alive(self) -> bool:
        """Whether the session lasts."""
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
        for thread in self._threads:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(timeout=2)
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
        """The lines of its standard error."""
        self._errors.join(PRINTED_S)
        printed = self._errors.so_far()
        text = (self._marks.after(printed) or b"").decode(errors="replace")
        return [line.strip() for line in text.splitlines() if line.strip()]

    def _read(self) -> None:
        for line in self._lines():
            try:
                event = read_json(line)
                number = int(event["id"])
            except (ValueError, TypeError, KeyError):
                continue  # a login script's words
            with self._lock:
                stream = self._streams.get(number)
            if stream is not None:
                stream.deliver(event)
        with self._lock:
            streams = list(self._streams.values())
        for stream in streams:
            stream.deliver(_GONE)

    def _lines(self) -> Iterator[bytes]:
        pipe = self._channel.stdout
        assert pipe is not None
        with suppress(ValueError, OSError), pipe:  # only here: elsewhere it waits for readline()
            while line := pipe.readline(MOST_LINE):
                if len(line) == MOST_LINE:
                    return
                yield line

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


def _without_none(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if value is not None}
