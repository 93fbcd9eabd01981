"""The client of an agent: requests and events as JSON lines over two pipes
(docs/probe-protocol.md).

Each request has a number, which its events carry. The agent of a node and that of a host speak it.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import IO, Any

from culvert.errors import CulvertError, DeadlineExceeded, ProbeError
from culvert.json_text import read_json

Event = dict[str, Any]
MOST_LINE = 64 << 20
"""A longer one is no event: it ends the exchange."""
_LAST = ("done", "error")
"""Events after which a request has no more."""


class Replies:
    """The events of one request."""

    def __init__(self, exchange: Exchange, number: int, do: str) -> None:
        self.number = number
        self.do = do
        self._exchange = exchange
        self._events: queue.Queue[Event | None] = queue.Queue()

    def next(self, timeout_s: float | None, wanted: str = "answer") -> Event:
        """The next event; ``wanted`` is named in an error. Raises DeadlineExceeded, what ``lost``
        returns for an agent that has ended, and for its errors OSError or ProbeError."""
        where = self._exchange.where
        try:
            event = self._events.get(timeout=timeout_s)
        except queue.Empty:
            raise DeadlineExceeded(
                f"probe task {self.do} on {where}",
                f"no '{wanted}' within {timeout_s:g} s",
                "see the probe's log; is the machine overloaded?",
            ) from None
        if event is None:
            raise self._exchange.lost(self.do)
        if event.get("event") in _LAST:
            self.forget()
        if event.get("event") != "error":
            return event
        errno, what = event.get("errno"), str(event.get("what", "?"))
        if isinstance(errno, int):
            raise OSError(errno, os.strerror(errno), what)
        raise ProbeError(
            f"{self.do} on {where}: {what}",
            str(event.get("why", "no reason given")),
            str(event.get("remedy", "see docs/probe-protocol.md")),
        )

    def send(self, do: str, **parameters: Any) -> None:
        """A further request with the same number."""
        self._exchange.send(self.number, do, **parameters)

    def forget(self) -> None:
        """Drop later events."""
        self._exchange.forget(self.number)

    def deliver(self, event: Event | None) -> None:
        """Called by the thread that reads."""
        self._events.put(event)


class Exchange:
    """Thread-safe. ``where`` is the agent's place for errors: "node a". ``lost`` returns the error
    for an agent that has ended during a request. ``stray`` gets each line that is not an event with
    a number, such as a login script's; all requests get the event that it returns."""

    def __init__(
        self,
        stdin: IO[bytes] | None,
        stdout: IO[bytes] | None,
        where: str,
        lost: Callable[[str], CulvertError],
        stray: Callable[[bytes], Event] | None = None,
    ) -> None:
        assert stdin is not None
        assert stdout is not None
        self._stdin = stdin
        self._stdout = stdout
        self.where = where
        self.lost = lost
        self._stray = stray
        self._numbers = itertools.count(1)
        self._replies: dict[int, Replies] = {}
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        """Another one: an agent whose output is not read does not read its input either."""
        self._reader = threading.Thread(target=self._read, name=f"agent-{where}", daemon=True)

    def begin(self) -> None:
        """Read from now on."""
        self._reader.start()

    def open(self, do: str, **parameters: Any) -> Replies:
        """A request whose events are wanted. Raises what ``lost`` returns if the agent is gone."""
        replies = self.expect(self._number(), do)
        self.send(replies.number, do, **parameters)
        return replies

    def expect(self, number: int, do: str) -> Replies:
        """The events with a number, without a request."""
        replies = Replies(self, number, do)
        with self._lock:
            self._replies[number] = replies
        return replies

    def forget(self, number: int) -> None:
        """Drop later events of a request."""
        with self._lock:
            self._replies.pop(number, None)

    def post(self, do: str, **parameters: Any) -> None:
        """A request whose events nobody reads."""
        self.send(self._number(), do, **parameters)

    def send(self, number: int, do: str, **parameters: Any) -> None:
        """Write one request without parameters that are None. Raises what ``lost`` returns."""
        given = {name: value for name, value in parameters.items() if value is not None}
        request = {"id": number, "do": do, **given}
        line = json.dumps(request, separators=(",", ":")).encode() + b"\n"
        try:
            with self._sending:
                self._stdin.write(line)
                self._stdin.flush()
        except (OSError, ValueError):
            raise self.lost(do) from None

    def join(self, timeout_s: float) -> None:
        """Wait until the agent has closed its output, and all was read."""
        if self._reader.is_alive() and self._reader is not threading.current_thread():
            self._reader.join(timeout_s)

    def _number(self) -> int:
        with self._lock:
            return next(self._numbers)

    def _read(self) -> None:
        for line in self._lines():
            event = _event(line)
            if event is not None:
                with self._lock:
                    wanted = self._replies.get(event["id"])
                if wanted is not None:
                    wanted.deliver(event)
            elif self._stray is not None:
                self._deliver_to_all(self._stray(line))
        self._deliver_to_all(None)

    def _deliver_to_all(self, event: Event | None) -> None:
        with self._lock:
            everybody = list(self._replies.values())
        for replies in everybody:
            replies.deliver(event)

    def _lines(self) -> Iterator[bytes]:
        # Closed here only: in another thread that would wait for a readline() without an end.
        with suppress(ValueError, OSError), self._stdout:
            while len(line := self._stdout.readline(MOST_LINE)) not in (0, MOST_LINE):
                yield line


def _event(line: bytes) -> Event | None:
    with suppress(ValueError):
        event = read_json(line)
        if isinstance(event, dict) and isinstance(event.get("id"), int):
            return event
    return None
