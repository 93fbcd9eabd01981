"""A process on a node, its resource usage, and how it ended."""

from __future__ import annotations

import io
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from culvert.errors import DeadlineExceeded, LabError

if TYPE_CHECKING:
    from typing_extensions import Buffer

REMEDY_IF_STOPPED = (
    "find the program that stops processes (a debugger, a shell, a supervisor), then repeat the "
    "trial"
)
_CRASHES = frozenset(
    {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGSYS}
)


@dataclass(frozen=True)
class Usage:
    """Resource usage of a process since its start, the sum of all its threads."""

    cpu_ns: int
    voluntary_switches: int
    involuntary_switches: int
    peak_memory_bytes: int


class Process(ABC):
    """A process on a node, in its own process group, stopped by the lab."""

    name: str
    log: Path
    """Standard error, and standard output unless it is a pipe."""
    _stdin: IO[bytes] | None = None
    _stdout: IO[bytes] | None = None
    started_monotonic_ns: int
    """CLOCK_MONOTONIC of the node just before the program was executed."""

    @property
    @abstractmethod
    def pid(self) -> int:
        """Process id on the node."""

    @property
    def stdin(self) -> IO[bytes]:
        """Pipe to the process; raises LabError unless it was spawned with pipes."""
        return self._pipe(self._stdin)

    @property
    def stdout(self) -> IO[bytes]:
        """Pipe from the process; raises LabError unless it was spawned with pipes."""
        return self._pipe(self._stdout)

    def _pipe(self, pipe: IO[bytes] | None) -> IO[bytes]:
        if pipe is None:
            raise LabError(self.name, "was started without pipes", "spawn it with pipes=True")
        return pipe

    @abstractmethod
    def alive(self) -> bool:
        """Whether it runs."""

    @abstractmethod
    def returncode(self) -> int | None:
        """Exit code, negative for a signal, None while it runs."""

    @abstractmethod
    def stop(self, *, grace_s: float = 2.0) -> None:
        """SIGTERM to its group, SIGKILL after the grace period; returns when it has ended."""

    def age_s(self) -> float:
        """Seconds since its start."""
        return (time.monotonic_ns() - self.started_monotonic_ns) / 1e9

    def threads(self) -> int | None:
        """Their number; None if the lab cannot determine it, or it has ended."""
        return None

    def usage(self) -> Usage | None:
        """Its usage until now; None if the lab cannot determine it, or it has ended."""
        return None

    def stopped(self) -> Sequence[int]:
        """Process ids of it and its children that are stopped now (SIGSTOP, a tracer); empty if the
        lab cannot determine it."""
        return ()

    def resumptions(self) -> int:
        """How often it was found to have been continued (SIGCONT) after a stop, since its start.
        Several between two calls count as one; 0 if the lab cannot determine it."""
        return 0

    def moved_to(self) -> str | None:
        """The control group for processor time that it was moved to since its start; None if it was
        not, or the lab cannot determine it."""
        return None

    def log_text(self) -> str:
        """What it has written to its log so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def last_line(self) -> str:
        """The last line of its log; empty if it has none."""
        return (self.log_text().strip().splitlines() or [""])[-1]


class InputPipe(io.RawIOBase):
    """A program's standard input as a file: ``send`` gets the bytes of each write, at most
    ``most_bytes`` of them; ``end`` is called when it is closed."""

    def __init__(
        self, send: Callable[[bytes], None], end: Callable[[], None], most_bytes: int | None = None
    ) -> None:
        self._send = send
        self._end = end
        self._most_bytes = most_bytes

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer) -> int:
        part = bytes(memoryview(data).cast("B")[: self._most_bytes])
        self._send(part)
        return len(part)

    def close(self) -> None:
        if not self.closed:
            self._end()
        super().close()


def not_ended(name: str, within_s: float) -> DeadlineExceeded:
    """The error for a program that was run until its end."""
    return DeadlineExceeded(
        name,
        f"did not end within {within_s:g} s",
        "check whether it waits for something that is missing",
    )


def how_ended(code: int | None) -> str:
    """How a process ended that Culvert did not end, from its exit code: negative for a signal, None
    if it is unknown."""
    if code is None:
        return "ended"
    name = _signal_name(code)
    if name is None:
        return f"ended (exit code {code})"
    verb = "crashed" if -code in _CRASHES else "was killed"
    return f"{verb} ({name})"


def remedy_for(code: int | None, *, otherwise: str) -> str:
    """What fits that ending; ``otherwise`` if the program ended by itself or crashed."""
    if code is None or _signal_name(code) is None or -code in _CRASHES:
        return otherwise
    return (
        "another program killed it, or the kernel for lack of memory (see dmesg): "
        "remove that cause, then repeat the trial"
    )


def _signal_name(code: int) -> str | None:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return None
