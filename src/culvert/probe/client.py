"""One agent on one node, several tasks at once.

The agent is a process on the node, and exchanges JSON lines on its standard input and output;
docs/probe-protocol.md describes the tasks. No control port is ever opened.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from culvert.errors import DeadlineExceeded, ProbeError
from culvert.exchange import Event, Exchange, Replies
from culvert.json_text import read_json
from culvert.labs.process import REMEDY_IF_STOPPED, how_ended, remedy_for
from culvert.probe.results.base import OTHER_VERSION
from culvert.waiting import wait_until

if TYPE_CHECKING:
    from culvert.labs.endpoint import Endpoint

_ANSWER_S = 20.0
"""Of a machine with ten busy processes a core; an agent that has ended is noticed at once."""
_END_S = 1.0
"""Longest time between the end of a process's output and its exit code."""
_SHOWN = 200
"""Characters of an invalid answer to show in an error."""


class Task:
    """A task that runs on the agent."""

    def __init__(self, probe: Probe, replies: Replies) -> None:
        self._probe = probe
        self._replies = replies
        self.name = replies.do
        self.intervals: list[Event] = []

    def ready(self, timeout_s: float = _ANSWER_S) -> Event:
        """Wait until the task listens or has started; returns its event, such as ``{"port":
        40001}``."""
        return self._wait("ready", timeout_s)

    def port(self, timeout_s: float = _ANSWER_S) -> int:
        """Wait until the task listens; returns its port."""
        event = self.ready(timeout_s)
        match event.get("port"):
            case int(port) if 0 < port < 1 << 16:
                return port
        raise self._nonsense(event)

    def result(self, timeout_s: float) -> Event:
        """Wait until the task has ended by itself; returns its result."""
        event = self._wait("done", timeout_s)
        match event.get("result"):
            case dict(result):
                return result
        raise self._nonsense(event)

    def begin_at(self, monotonic_ns: int) -> None:
        """Let a task that waits for its beginning begin at a time of its node's clock."""
        self._replies.send("begin", at_ns=monotonic_ns)

    def stop(self, timeout_s: float = _ANSWER_S, *, packets: int | None = None) -> Event:
        """Request the end of the task; returns its result. ``packets`` is the number that a
        receiver should expect."""
        self._replies.send("stop", packets=packets)
        return self.result(timeout_s)

    def _nonsense(self, event: Event) -> ProbeError:
        return ProbeError(
            f"{self.name} on node {self._probe.node_name}",
            f"its answer is invalid: {str(event)[:_SHOWN]}",
            OTHER_VERSION,
        )

    def _wait(self, wanted: str, timeout_s: float) -> Event:
        while True:
            event = self._replies.next(timeout_s, wanted)
            if event.get("event") == "interval":
                self.intervals.append(event)
            elif event.get("event") == wanted:
                return event


class Probe:
    """The measuring program on a node; a context manager."""

    def __init__(self, node: Endpoint) -> None:
        self.node_name = node.name
        program = node.require("culvert-probe", "run 'make setup'")
        self.process = process = node.spawn([program, "agent"], name="probe", pipes=True)
        self._exchange = Exchange(
            process.stdin, process.stdout, f"node {node.name}", self.death, _stray
        )
        self._exchange.begin()

    def begin(self, task: str, **parameters: Any) -> Task:
        """Start a task and return at once. Raises ProbeError if the agent is gone."""
        return Task(self, self._exchange.open(task, **parameters))

    def call(self, task: str, timeout_s: float, **parameters: Any) -> Event:
        """Start a task and wait for its result."""
        return self.begin(task, **parameters).result(timeout_s)

    def death(self, during: str) -> ProbeError:
        """The error for an agent that has ended."""
        try:
            code = wait_until(self.process.returncode, what="the probe's end", deadline_s=_END_S)
        except DeadlineExceeded:
            how = "it closed its output"
        else:
            how = f"it ended (exit code {code})"
        said = self.process.last_line()
        return ProbeError(
            f"probe on node {self.node_name}",
            f"{how} during {during}" + (f": {said}" if said else ""),
            "run it by hand: culvert-probe agent; report it if it crashed",
        )

    def broken(self) -> ProbeError | None:
        """The error that says that it was killed, crashed, or is stopped; None while it works."""
        process, what = self.process, f"the probe on node {self.node_name}"
        if not process.alive():
            code, said = process.returncode(), process.last_line()
            return ProbeError(
                what,
                f"it {how_ended(code)} during the trial" + (f": {said}" if said else ""),
                remedy_for(code, otherwise="report it, with the end of its log"),
            )
        if stopped := process.stopped():
            return ProbeError(
                what,
                f"it is stopped (process {stopped[0]}: SIGSTOP, or a tracer)",
                REMEDY_IF_STOPPED,
            )
        return None

    def close(self) -> None:
        """End of input: the agent ends its tasks and itself."""
        with suppress(OSError):  # the agent has ended already
            self.process.stdin.close()
        # It closes its pipe; stop() would do it between two lines of a reader that still reads.
        self._exchange.join(_END_S)
        self.process.stop()
        self._exchange.join(_ANSWER_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _stray(line: bytes) -> Event:
    """An error that the agent could not assign to a task, or an invalid line as one."""
    with suppress(ValueError):
        event = read_json(line)
        if isinstance(event, dict) and event.get("id") is None:
            return event
    return {
        "event": "error",
        "what": "answer",
        "why": f"invalid line: {line[:_SHOWN]!r}",
        "remedy": OTHER_VERSION,
    }
