"""What a check does: its steps, the driver's commands and files in each, and the logs meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec, TypeVar

from culvert.labs.node import Node
from culvert.topology.graph import Path as TrafficPath
from culvert.vpns.base import Vpn
from culvert.vpns.contract.rules import LogTail

P = ParamSpec("P")
R = TypeVar("R")
LOGS = "logs"
_TAIL_LINES = 8
_MASK = "(a secret)"
OBSERVERS = ("probe", "ping-")
"""Logs of the check's own observers, and of pings that wait for an answer."""
_STEPS = (
    *("prepare", "choose", "configure", "serve", "join", "listen", "start", "reach", "connect"),
    *("leave", "crash", "drop", "resume", "stop"),
)
"""Methods of a driver that are steps of its own; others belong to the step that calls them."""


class Story:
    """``tell`` gets each line at once, without secrets."""

    def __init__(self, tell: Callable[[str], None] | None = None) -> None:
        self.step = ""
        self.methods: list[str] = []
        """Of the driver, in the step."""
        self.secrets: Callable[[], Iterable[str]] = tuple
        self._tell = tell
        self._part = ""
        self._depth = 0
        self._told: dict[Path, str] = {}
        self._nodes: list[Node] = []

    def follow(self, nodes: Iterable[Node]) -> None:
        """The nodes whose logs are told and quoted."""
        self._nodes = list(nodes)

    def watch(self, vpn: Vpn) -> None:
        """Make each method of a driver's life a step."""
        for name in _STEPS:
            if hasattr(vpn, name):
                setattr(vpn, name, self._as_step(name, getattr(vpn, name)))

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """A name in front of the steps inside, such as that of a cycle."""
        before, self._part = self._part, f"{name}: "
        try:
            yield
        finally:
            self._part = before

    def look(self, step: str, *methods: str) -> None:
        """A step of the check's own; ``methods`` are those of the driver that it depends on."""
        self.step, self.methods = f"{self._part}{step}", list(methods)
        self.tell(self.step)

    def tell(self, line: str) -> None:
        if self._tell is not None:
            self._tell(f"{'  ' * self._depth}{self.masked(line)}")

    def masked(self, text: str) -> str:
        for token in self.secrets():
            text = text.replace(token, _MASK)
        return text

    def tails(self) -> tuple[LogTail, ...]:
        """The end of each program's log on all nodes."""
        found = []
        for name, path in self._logs():
            lines = [line for line in _text(path).splitlines() if line.strip()]
            found.append(LogTail(name, tuple(map(self.masked, lines[-_TAIL_LINES:]))))
        return tuple(found)

    def _as_step(self, name: str, method: Callable[P, R]) -> Callable[P, R]:
        def step(*args: P.args, **kwargs: P.kwargs) -> R:
            before, inner = self.step, self._depth > 0
            self.methods = [*self.methods, name] if inner else [name]
            self.step = f"{self._part}{name}({', '.join(map(_word, args))})"
            self.tell(self.step)
            self._depth += 1
            try:
                result = method(*args, **kwargs)
            finally:
                self._depth -= 1
                self._tell_logs()
            self.step = before if inner else f"after {self.step}"
            return result

        return step

    def _tell_logs(self) -> None:
        if self._tell is None:
            return
        for name, path in self._logs():
            text, before = _text(path), self._told.get(path, "")
            self._told[path] = text
            for line in text.removeprefix(before).splitlines()[-_TAIL_LINES:]:
                self.tell(f"  {name}: {line}")

    def _logs(self) -> Iterator[tuple[str, Path]]:
        for node in self._nodes:
            for path in sorted((node.directory / LOGS).glob("*.log")):
                if not path.name.startswith(OBSERVERS):
                    yield f"{node.name}/{LOGS}/{path.name}", path


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # a new process of that name makes it anew
        return ""


def _word(value: object) -> str:
    if isinstance(value, Node):
        return value.name
    return str(value) if isinstance(value, TrafficPath) else "lab"
